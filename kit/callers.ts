// Sends requests as each kind of caller, with that caller's credential.
import type { Role } from '../kernel/http/principal.ts'
import { operatorToken, type Reply, type TestServer } from './test-server.ts'

/**
 * The caller. A user is created at its first call; for a session, the password of an existing user is reset. A server
 * without an administrator answers only the operator, so the first other caller makes one: `kit-admin`.
 */
export type Caller =
  | 'operator' // with the server's operator token
  | 'nobody' // without a credential
  | { readonly user: string; readonly role?: Role; readonly by?: 'session' | 'api_token' } // default: user, session
  | { readonly client: string } // a client id of the kit: uses its agent's token

export type Call = TestServer['call']

/** The server's name in the requests of a session, unless it has `operator_http_public_origin`. */
export const kitHost = 'sluice.test'

const kitPassword = 'a password of the test kit'

type Headers = Readonly<Record<string, string>>

/** Returns a function that returns `call` for a caller. Each caller signs in once. */
export function openCallers(call: Call, publicOrigin = `http://${kitHost}`) {
  const known = new Map<string, Promise<Headers>>()

  async function headersOf(caller: Caller): Promise<Headers> {
    if (caller === 'operator') return { authorization: `Bearer ${operatorToken}` }
    await setUp()
    if (caller === 'nobody') return { authorization: '' }
    if ('client' in caller) return { authorization: `Bearer ${caller.client}` }
    const { user, role = 'user', by = 'session' } = caller
    const isNew = await createUser(user, role)
    return by === 'session' ? signIn(user, isNew) : { authorization: `Bearer ${await issue(user)}` }
  }

  async function setUp(): Promise<void> {
    const { body } = await call<{ onboarding_required: boolean }>('GET', '/v1/auth/status')
    if (body.onboarding_required) await createUser('kit-admin', 'superadmin')
  }

  async function createUser(user: string, role: Role): Promise<boolean> {
    const body = {
      user_id: user,
      display_name: user,
      role,
      initial_password: kitPassword,
      password_change_required: false
    }
    const { status, text } = await call('POST', '/v1/users', body)
    if (status !== 201 && !text.includes('user_already_exists')) throw refused('a new user', text)
    return status === 201
  }

  /** A browser sends its session cookie, and headers which prove that the request comes from a page of the server. */
  async function signIn(user: string, isNew: boolean): Promise<Headers> {
    if (!isNew) await resetPassword(call, user)
    const proofs = {
      authorization: '',
      host: new URL(publicOrigin).host,
      origin: publicOrigin,
      'x-svc-csrf': '1'
    }
    const login = await call('POST', '/v1/auth/login', { user_id: user, password: kitPassword }, proofs)
    const [cookie = ''] = String(expectOk('a session', login).headers['set-cookie']).split(';')
    return { ...proofs, cookie }
  }

  async function issue(user: string): Promise<string> {
    const reply = await call<{ token: string }>('POST', `/v1/users/${user}/credentials`, {})
    return expectOk('an API token', reply).body.token
  }

  return (caller: Caller): Call =>
    async (method, url, body, headers = {}, connection = {}) => {
      const key = JSON.stringify(caller)
      const own = known.get(key) ?? headersOf(caller)
      known.set(key, own)
      return call(method, url, body, { ...(await own), ...headers }, connection)
    }
}

/** A user that another caller of the kit has created has this password, and keeps the sessions. */
async function resetPassword(call: Call, user: string): Promise<void> {
  const password = { new_password: kitPassword, temporary: false, keep_api_tokens: true }
  const reply = await call('POST', `/v1/users/${user}/password`, password)
  if (!reply.text.includes('password_unchanged')) expectOk('a password', reply)
}

function expectOk<B>(what: string, reply: Reply<B>): Reply<B> {
  if (reply.status >= 300) throw refused(what, reply.text)
  return reply
}

const refused = (what: string, text: string): Error =>
  new Error(`the server refuses ${what} of the kit: ${text}`)
