// A server with users, and their bearer tokens.
import type { Test } from 'tap'
import type { Role } from '../../../kernel/http/principal.ts'
import { type Reply, type TestServer, type TestServerOptions, testServer } from '../../../kit/test-server.ts'

export interface Body {
  readonly error: { readonly code: string; readonly message: string }
  readonly [field: string]: unknown
}
type Headers = Readonly<Record<string, string>>

export interface UsersFixture extends TestServer {
  /** Creates a user and returns its Authorization header. */
  user(userId: string, role?: Role, more?: object): Promise<Headers>
  bearer(userId: string): Promise<Headers>
  ask(
    method: Parameters<TestServer['call']>[0],
    path: string,
    body?: object,
    as?: Headers
  ): Promise<Reply<Body>>
}

export async function usersFixture(t: Test, options: TestServerOptions = {}): Promise<UsersFixture> {
  const app = await testServer(t, {
    plugins: ['users', 'auth', 'credentials', 'clients', 'rules'],
    ...options
  })
  const ask: UsersFixture['ask'] = (method, path, body, as) =>
    app.call<Body>(method, `/v1/users${path}`, body, as)
  const bearer = async (userId: string): Promise<Headers> => {
    const { body } = await ask('POST', `/${userId}/credentials`, {})
    return { authorization: `Bearer ${body['token']}` }
  }
  return {
    ...app,
    ask,
    bearer,
    async user(userId, role = 'user', more = {}) {
      const created = await ask('POST', '', { user_id: userId, display_name: userId, role, ...more })
      t.equal(created.status, 201, `${userId} is created`)
      return bearer(userId)
    }
  }
}

export const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

export const password = 'a long enough password'

export const signIn = (app: TestServer, userId: string, userPassword = password): Promise<Reply<Body>> =>
  app.call<Body>('POST', '/v1/auth/login', { user_id: userId, password: userPassword }, { authorization: '' })

export const cookieOf = ({ headers }: Reply<unknown>): string =>
  String(headers['set-cookie']).split(';')[0] ?? ''
