// `login` exchanges a password for a credential, which later commands use. The password is not stored.
import { hostname } from 'node:os'
import { Type } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, unauthenticated } from '../../kernel/base/errors.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { type CliApi, originIn } from './api.ts'
import { askSecret } from './ask-secret.ts'
import { credentialFile, type Login, readLogin, writeLogin } from './credential-file.ts'

const lifetimeSecs = 7 * 24 * 3600

const server = Type.Optional(
  Type.String({ description: 'Origin of the operator API; default SVC_SERVER, else http://127.0.0.1:7080.' })
)
const insecure_http = Type.Optional(
  Type.Boolean({ description: 'Send secrets over plain http to another host.' })
)

const login = defineCommand({
  name: 'login',
  summary: 'Log in with a password; other commands then use a credential that is valid for 7 days.',
  args: Type.Object({
    user: Type.String({ description: 'Id of the user.' }),
    server,
    origin: Type.Optional(
      Type.String({ description: 'Public origin of the server, if --server is a different address.' })
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
  summary: 'Revoke the credential of the login on this machine.',
  args: Type.Object({ server, insecure_http }),
  needs: 'nothing',
  async run(call) {
    const at = originIn(call.args.server, call.env)
    const file = credentialFile(call.env)
    const found = readLogin(file, at)
    if (!found) throw new Fault(unauthenticated, `there is no login to ${at} on this machine`)
    await revoke(call, at, found)
    writeLogin(file, at, null)
    call.print.data({ server: at, user_id: found.user_id })
  }
})

export const commands = [login, logout]

interface PasswordLogin {
  readonly at: string
  readonly user: string
  readonly password: string
}

type Call = CommandCall<{ readonly origin?: string }>

/** Issues a credential. The session lasts for these three requests. */
async function exchange(call: Call, { at, user, password }: PasswordLogin): Promise<Login> {
  const { request } = call.connect(at, '') as CliApi // what openApi returns
  const entered = await request('POST', '/v1/auth/login', { body: { user_id: user, password } })
  const cookie = (entered.headers.getSetCookie()[0] ?? '').split(';', 1)[0] ?? ''
  const headers = { cookie, origin: call.args.origin ?? new URL(at).origin, 'x-svc-csrf': '1' }
  try {
    const path = `/v1/users/${encodeURIComponent(user)}/credentials`
    const body = { label: `cli@${hostname()}`.slice(0, 64), expires_in_secs: lifetimeSecs }
    const issued = (await (await request('POST', path, { body, headers })).json()) as Issued // checked by the server's own schema
    const { credential_id, token, created_at } = issued
    const expires_at = timestamp(Date.parse(created_at) + lifetimeSecs * 1000)
    return { user_id: user, credential_id, token, expires_at }
  } finally {
    await request('POST', '/v1/auth/logout', { headers })
  }
}
type Issued = Pick<Login, 'credential_id' | 'token'> & { readonly created_at: string }

/** Revokes a credential. One that no longer exists or is no longer valid needs nothing. */
async function revoke(call: Pick<Call, 'connect' | 'print'>, at: string, login: Login): Promise<void> {
  const { user_id: user, credential_id: id, token } = login
  try {
    await call.connect(at, token).send('DELETE', `/v1/users/${encodeURIComponent(user)}/credentials/${id}`)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    if (/^(unauthenticated|credential_not_found|user_not_found)$/.test(error.errorCode.code)) return
    call.print.line(`the credential ${id} was not revoked and stays valid until it expires: ${error.message}`)
  }
}
