// `login` gets a token for later commands: from a browser, or for a password, which is not stored.
import { hostname } from 'node:os'
import { timestamp } from '../../../kernel/base/clock.ts'
import { Fault, reasonOf, unauthenticated, wrongUsage } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../../kernel/cli/command.ts'
import { openSecretReader, type SecretReader } from '../terminal/secret-reader.ts'
import { answerSteps } from './answer-steps.ts'
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
  summary: 'Log in by a browser, or with a password; later commands use a token that is valid for 7 days.',
  examples: [
    'sluice login --server https://sluice.example.com',
    'sluice login --sso corp --server https://sluice.example.com',
    'sluice login ann'
  ],
  args: Type.Object({
    user: Type.Optional(
      Type.String({ description: 'Id of the user, to log in with a password; default: log in by a browser.' })
    ),
    read_only: Type.Optional(Type.Boolean({ description: 'By a browser: the token only reads.' })),
    sso: Type.Optional(
      Type.Union([Type.Boolean(), Type.String()], {
        description:
          'By a browser: the name of the provider that the page selects; default: the only one of the server.'
      })
    ),
    server,
    origin: Type.Optional(
      Type.String({ description: 'Public origin of the server, if --server is another address.' })
    ),
    cacert,
    step_method: Type.Optional(
      Type.String({
        description:
          'How to answer a second factor or another step, such as recovery_code; default: the first way that it has.'
      })
    ),
    insecure_http
  }),
  positional: ['user'],
  needs: 'nothing',
  async run(call) {
    const { user, server: given, read_only: isReadOnly = false, sso = false } = call.args
    const origin = originIn(given, call.env)
    const { origin: publicOrigin, cacert, step_method: stepMethod } = call.args
    if (user === undefined)
      return call.print.data(await logInByBrowser(call, { origin, cacert, isReadOnly, sso }))
    if (isReadOnly || sso !== false)
      throw new Fault(
        wrongUsage,
        `a login with a password has no --${isReadOnly ? 'read-only' : 'sso'}; omit USER to log in by a browser`
      )
    const secrets = openSecretReader(call)
    try {
      const password = await secrets.ask({ variable: 'SVC_PASSWORD', prompt: `Password of ${user}: ` })
      call.print.data(
        await logIn(call, { origin, publicOrigin, cacert, user, password, stepMethod, secrets })
      )
    } finally {
      secrets.close()
    }
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
  readonly stepMethod?: string | undefined // for further steps that have it; default: their first
  readonly secrets?: Pick<SecretReader, 'ask'> // for answers to further steps; without it they are an error
}

type Call = Pick<CommandCall<object>, 'connect' | 'env' | 'print'>

/** Issues a token for the user, saves it, and revokes the token that it replaces. */
export async function logIn(call: Call, given: PasswordLogin) {
  const { origin, user } = given
  const before = readLogin(loginFile(call.env), origin)
  const saved = save(call, given, await exchange(call, given, before))
  if (before && before.user_id !== user) await revoke(call, origin, before)
  return saved
}

interface BrowserLogin extends Pick<PasswordLogin, 'origin' | 'cacert'> {
  readonly isReadOnly: boolean
  readonly sso: boolean | string
}

/** Waits for the approval of a user, saves the token, and revokes the one that it replaces. */
async function logInByBrowser(call: Call, given: BrowserLogin) {
  const { origin, isReadOnly, sso } = given
  const before = readLogin(loginFile(call.env), origin)
  const { logInByDevice } = await import('./device-login.ts')
  const scopes = isReadOnly ? ['*:read'] : null
  const saved = save(call, given, await logInByDevice(call, { origin, label: label(), scopes, sso }))
  if (before) await revoke(call, origin, before)
  return saved
}

function save(call: Call, { origin, cacert: given }: Pick<PasswordLogin, 'origin' | 'cacert'>, made: Login) {
  const file = loginFile(call.env)
  const cacert = givenAuthorities(given, call.env) ?? readLogin(file, origin)?.cacert
  writeLogin(file, origin, { ...made, ...(cacert !== undefined && { cacert }) })
  return { server: origin, user_id: made.user_id, expires_at: made.expires_at, file }
}

const label = (): string => `cli@${hostname()}`.slice(0, 64)

/** Issues a token, and revokes the one of the earlier login of the user, in a session that lasts for these requests. */
async function exchange(call: Call, given: PasswordLogin, before: Login | undefined): Promise<Login> {
  const { origin, publicOrigin = new URL(origin).origin, user, password } = given
  const { request } = call.connect(origin, '') as CliApi // what openApi returns
  const session = await request('POST', '/v1/auth/login', { body: { user_id: user, password } }).catch(
    (error: unknown) => answerSteps(error, request, given)
  )
  const cookie = (session.headers['set-cookie']?.[0] ?? '').split(';', 1)[0] ?? ''
  const headers = { cookie, origin: publicOrigin, 'x-svc-csrf': '1' }
  try {
    const path = pathOf({ user_id: user })
    const issue = async (expires_in_secs: number) => {
      const { text } = await request('POST', path, { body: { label: label(), expires_in_secs }, headers })
      const { created_at, ...issued } = JSON.parse(text) as Issued // validated by the server
      return { ...issued, expires_at: timestamp(Date.parse(created_at) + expires_in_secs * 1000) }
    }
    const { credential_id, token, expires_at } = await issue(lifetimeSecs).catch((error: unknown) =>
      issue(longestLifeIn(error))
    )
    if (before?.user_id === user)
      await revoking(call, before, () => request('DELETE', pathOf(before), { headers })) // a viewer's token could not
    return { user_id: user, credential_id, token, expires_at }
  } finally {
    // The session also expires. A failure here must not hide a failure of the request above.
    await request('POST', '/v1/auth/logout', { headers }).catch((error: unknown) =>
      call.print.note(`could not log out of the session: ${reasonOf(error)}`)
    )
  }
}

type Issued = Pick<Login, 'credential_id' | 'token'> & { readonly created_at: string }

/** Returns the longest lifetime that the server allows if it is shorter than that of a login. Throws other errors. */
function longestLifeIn(error: unknown): number {
  const limit = error instanceof Fault ? error.details?.['limit'] : undefined
  if (error instanceof Fault && error.errorCode.code === 'credential_lifetime' && typeof limit === 'number')
    return limit
  throw error
}

const pathOf = ({ user_id: user, credential_id: id }: Pick<Login, 'user_id'> & Partial<Login>): string =>
  `/v1/users/${encodeURIComponent(user)}/credentials${id === undefined ? '' : `/${id}`}`

/** Revokes the token of a login with itself. */
const revoke = (call: Call, origin: string, login: Login): Promise<void> =>
  revoking(call, login, () => call.connect(origin, login.token).send('DELETE', pathOf(login)))

/** Notes if the token of a login cannot be revoked, unless it is not valid any more. */
async function revoking(
  call: Call,
  { credential_id: id }: Login,
  work: () => Promise<unknown>
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    if (/^(unauthenticated|credential_not_found|user_not_found)$/.test(error.errorCode.code)) return
    call.print.note(`could not revoke token ${id}, which stays valid until it expires: ${error.message}`)
  }
}
