// `login` exchanges a password for a token, which later commands use. The password is not stored.
import { hostname } from 'node:os'
import { timestamp } from '../../../kernel/base/clock.ts'
import { Fault, reasonOf, unauthenticated } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../../kernel/cli/command.ts'
import { askSecret } from '../terminal/ask-secret.ts'
import { type CliApi, originIn } from './api-client.ts'
import { cacertHelp, givenAuthorities } from './authorities.ts'
import { type Login, loginFile, readLogin, writeLogin } from './login-file.ts'

const lifetimeSecs = 7 * 24 * 3600

const server = Type.Optional(
  Type.String({ description: 'Address of the operator API; default SVC_SERVER, else http://127.0.0.1:7080.' })
)
const insecure_http = Type.Optional(
  Type.Boolean({ description: 'Send secrets over plain HTTP to another host.' })
)

const cacert = Type.Optional(Type.String({ description: cacertHelp }))

const login = defineCommand({
  name: 'login',
  summary: 'Log in with a password; later commands use a token that is valid for 7 days.',
  args: Type.Object({
    user: Type.String({ description: 'Id of the user.' }),
    server,
    origin: Type.Optional(
      Type.String({ description: 'Public origin of the server, if --server is another address.' })
    ),
    cacert,
    insecure_http
  }),
  positional: ['user'],
  needs: 'nothing',
  async run(call) {
    const { user, server: given } = call.args
    const origin = originIn(given, call.env)
    const password = await askSecret(call, { variable: 'SVC_PASSWORD', prompt: `Password of ${user}: ` })
    const { origin: publicOrigin, cacert } = call.args
    call.print.data(await logIn(call, { origin, publicOrigin, cacert, user, password }))
  }
})

const logout = defineCommand({
  name: 'logout',
  summary: 'Log out: revoke the token of the login on this machine.',
  args: Type.Object({ server, cacert, insecure_http }),
  needs: 'nothing',
  async run(call) {
    const origin = originIn(call.args.server, call.env)
    const file = loginFile(call.env)
    const found = readLogin(file, origin)
    if (!found) throw new Fault(unauthenticated, `there is no login to ${origin} on this machine`)
    await revoke(call, origin, found)
    writeLogin(file, origin, null)
    call.print.data({ server: origin, user_id: found.user_id })
  }
})

export const commands = [login, logout]

interface PasswordLogin {
  readonly origin: string
  readonly publicOrigin?: string | undefined // if it differs from `origin`
  readonly cacert?: string | undefined // file; its certificates are saved with the login
  readonly user: string
  readonly password: string
}

type Call = Pick<CommandCall<object>, 'connect' | 'env' | 'print'>

/** Issues a token for the user, saves it, and revokes the token that it replaces. */
export async function logIn(call: Call, given: PasswordLogin) {
  const { origin, user } = given
  const created = await exchange(call, given)
  const file = loginFile(call.env)
  const before = readLogin(file, origin)
  const cacert = givenAuthorities(given.cacert, call.env) ?? before?.cacert
  writeLogin(file, origin, { ...created, ...(cacert !== undefined && { cacert }) })
  if (before)
    await revoke(call, origin, { ...before, token: before.user_id === user ? created.token : before.token })
  return { server: origin, user_id: user, expires_at: created.expires_at, file }
}

/** Issues a token in a session that lasts for these three requests. */
async function exchange(call: Call, given: PasswordLogin): Promise<Login> {
  const { origin, publicOrigin = new URL(origin).origin, user, password } = given
  const { request } = call.connect(origin, '') as CliApi // what openApi returns
  const session = await request('POST', '/v1/auth/login', { body: { user_id: user, password } })
  const cookie = (session.headers['set-cookie']?.[0] ?? '').split(';', 1)[0] ?? ''
  const headers = { cookie, origin: publicOrigin, 'x-svc-csrf': '1' }
  try {
    const path = `/v1/users/${encodeURIComponent(user)}/credentials`
    const body = { label: `cli@${hostname()}`.slice(0, 64), expires_in_secs: lifetimeSecs }
    const { text } = await request('POST', path, { body, headers })
    const issued = JSON.parse(text) as Issued // validated by the server
    const { credential_id, token, created_at } = issued
    const expires_at = timestamp(Date.parse(created_at) + lifetimeSecs * 1000)
    return { user_id: user, credential_id, token, expires_at }
  } finally {
    // The session also expires. A failure here must not hide a failure of the request above.
    await request('POST', '/v1/auth/logout', { headers }).catch((error: unknown) =>
      call.print.note(`could not log out of the session: ${reasonOf(error)}`)
    )
  }
}
type Issued = Pick<Login, 'credential_id' | 'token'> & { readonly created_at: string }

/** Revokes the token of a login, if it still exists and is valid. */
async function revoke(call: Call, origin: string, login: Login): Promise<void> {
  const { user_id: user, credential_id: id, token } = login
  try {
    const path = `/v1/users/${encodeURIComponent(user)}/credentials/${id}`
    await call.connect(origin, token).send('DELETE', path)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    if (/^(unauthenticated|credential_not_found|user_not_found)$/.test(error.errorCode.code)) return
    call.print.note(`could not revoke token ${id}, which stays valid until it expires: ${error.message}`)
  }
}
