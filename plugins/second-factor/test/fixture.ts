// A server, and users who sign in with a second factor.
import type { Test } from 'tap'
import type { Reply, TestServer, TestServerOptions } from '../../../kit/test-server.ts'
import { addUser, onboardedServer, origin, root, unauthenticated } from '../../auth/test/fixture.ts'
import { codeAt, stepAt } from '../totp.ts'

export const password = root.password

export interface Body {
  readonly secret: string
  readonly uri: string
  readonly recovery_codes: readonly string[]
  readonly password_change_required: boolean
  readonly second_factor_enrollment_required: boolean
  readonly second_factors: readonly string[]
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details: {
      readonly challenge: string
      readonly methods: readonly string[]
      readonly expires_at: string
    }
  }
}
type Headers = Readonly<Record<string, string>>
type Method = Parameters<TestServer['call']>[0]

export interface Browser {
  readonly cookie: string
  readonly call: (method: Method, url: string, body?: object) => Promise<Reply<Body>>
}

export const plugins = [
  'users',
  'auth',
  'audit',
  'credentials',
  'secrets',
  'second-factor',
  'advertised-endpoint'
]

export const serverFor = (t: Test, options: TestServerOptions = {}): Promise<TestServer> =>
  onboardedServer(t, { plugins, ...options })

/** Sends the password. */
export const login = (app: TestServer, userId = 'ann', headers: Headers = {}): Promise<Reply<Body>> =>
  app.call<Body>(
    'POST',
    '/v1/auth/login',
    { user_id: userId, password },
    { ...unauthenticated, 'x-forwarded-for': '192.0.2.1', ...headers }
  )

/** Sends the password, and returns the challenge. */
export async function challengeOf(app: TestServer, headers: Headers = {}, userId = 'ann'): Promise<string> {
  const { body } = await login(app, userId, headers)
  return body.error.details.challenge
}

/** Answers a challenge. */
export const answer = (app: TestServer, body: object, headers: Headers = {}): Promise<Reply<Body>> =>
  app.call<Body>('POST', '/v1/auth/second-factor', body, {
    ...unauthenticated,
    'x-forwarded-for': '192.0.2.1',
    ...headers
  })

/** The browser that has got the session of this reply. */
export function browserOf(app: TestServer, { headers }: Reply<unknown>): Browser {
  const cookie = String(headers['set-cookie']).split(';', 1)[0] ?? ''
  const proof = { ...unauthenticated, cookie, origin, 'x-svc-csrf': '1' }
  return { cookie, call: (method, url, body) => app.call<Body>(method, url, body, proof) }
}

/** Returns the code that the app of the user shows. */
export const codeNow = ({ clock }: TestServer, secret: string, drift = 0): string =>
  codeAt(secret, stepAt(clock.now()) + drift)

/** Never equals a code that the app of the user shows now. */
export function wrongCode(app: TestServer, secret: string): string {
  const right = [-1, 0, 1].map(drift => codeNow(app, secret, drift))
  return ['000000', '000001', '000002', '000003'].find(code => !right.includes(code)) ?? ''
}

/** Sets up the authenticator app of a signed-in user. The code of this step is then used. */
export async function enroll(app: TestServer, browser: Browser) {
  const { body: made } = await browser.call('POST', '/v1/users/me/totp')
  const { secret } = made
  const { status, body, text } = await browser.call('POST', '/v1/users/me/totp/confirm', {
    code: codeNow(app, secret)
  })
  if (status !== 200) throw new Error(`the app is not confirmed: ${text}`)
  return { secret, recovery: body.recovery_codes }
}

/** A server where ann has an authenticator app, and a new code of it is due. */
export async function enrolledServer(t: Test, options: TestServerOptions = {}) {
  const app = await serverFor(t, options)
  await addUser(app, 'ann')
  const browser = browserOf(app, await login(app))
  const enrolled = await enroll(app, browser)
  await app.clock.advance(30_000)
  return { app, browser, ...enrolled }
}

export const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })
