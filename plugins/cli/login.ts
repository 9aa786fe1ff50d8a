// A password becomes a credential of this machine, which the commands then use; the password is kept nowhere.
import { hostname } from 'node:os'
import { Type } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, unauthenticated } from '../../kernel/base/errors.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import type { CliApi } from './api.ts'
import { askSecret } from './ask-secret.ts'
import { credentialFile, type Login, readLogin, writeLogin } from './credential-file.ts'
import { originIn } from './origin.ts'

const lifeSecs = 7 * 24 * 3600

const server = Type.Optional(
  Type.String({ description: 'The operator API; default SVC_SERVER, else http://127.0.0.1:7080.' })
)
const insecure_http = Type.Optional(
  Type.Boolean({ description: 'Although it goes over plain http to another host.' })
)

const login = defineCommand({
  name: 'login',
  summary: 'Exchange a password for a credential of 7 days, which the other commands then use.',
  args: Type.Object({
    user: Type.String({ description: 'The user_id.' }),
    server,
    origin: Type.Optional(
      Type.String({ description: 'Public origin of the server, where --server is another way to it.' })
    ),
    insecure_http
  }),
  positional: ['user'],
  needs: 'nothing',
  async run(call) {
    const { user, server: given } = call.args
    const at = originIn(given, call.env)
    const password = await askSecret(call, { variable: 'SVC_PASSWORD', prompt: `Password of ${user}: ` })
    const made = await exchange(call, { at, user, password })
    const file = credentialFile(call.env)
    const before = readLogin(file, at)
    writeLogin(file, at, made)
    if (before)
      await revoke(call, at, { ...before, token: before.user_id === user ? made.token : before.token })
    call.print.data({ server: at, user_id: user, expires_at: made.expires_at, file })
  }
})

const logout = defineCommand({
  name: 'logout',
  summary: 'Revoke the credential that login has left on this machine.',
  args: Type.Object({ server, insecure_http }),
  needs: 'nothing',
  async run(call) {
    const at = originIn(call.args.server, call.env)
    const file = credentialFile(call.env)
    const found = readLogin(file, at)
    if (!found) throw new Fault(unauthenticated, `nobody is logged in to ${at} here`)
    await revoke(call, at, found)
    writeLogin(file, at, null)
    call.print.data({ server: at, user_id: found.user_id })
  }
})

export const commands = [login, logout]

interface Given {
  readonly at: string
  readonly user: string
  readonly password: string
}

type Call = CommandCall<{ readonly origin?: string }>

/** The session lives for these three requests. */
async function exchange(call: Call, { at, user, password }: Given): Promise<Login> {
  const { request } = call.connect(at, '') as CliApi // this plugin's own
  const entered = await request('POST', '/v1/auth/login', { body: { user_id: user, password } })
  const cookie = (entered.headers.getSetCookie()[0] ?? '').split(';', 1)[0] ?? ''
  const headers = { cookie, origin: call.args.origin ?? new URL(at).origin, 'x-svc-csrf': '1' }
  try {
    const path = `/v1/users/${encodeURIComponent(user)}/credentials`
    const body = { label: `cli@${hostname()}`.slice(0, 64), expires_in_secs: lifeSecs }
    const issued = (await (await request('POST', path, { body, headers })).json()) as Issued // its own schema
    const { credential_id, token, created_at } = issued
    const expires_at = timestamp(Date.parse(created_at) + lifeSecs * 1000)
    return { user_id: user, credential_id, token, expires_at }
  } finally {
    await request('POST', '/v1/auth/logout', { headers })
  }
}
type Issued = Pick<Login, 'credential_id' | 'token'> & { readonly created_at: string }

/** One that is gone, or no longer holds, is what was wanted. */
async function revoke(call: Pick<Call, 'connect' | 'print'>, at: string, login: Login): Promise<void> {
  const { user_id: user, credential_id: id, token } = login
  try {
    await call.connect(at, token).send('DELETE', `/v1/users/${encodeURIComponent(user)}/credentials/${id}`)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    if (/^(unauthenticated|credential_not_found|user_not_found)$/.test(error.errorCode.code)) return
    call.print.line(`the credential ${id} was not revoked, and expires by itself: ${error.message}`)
  }
}
