// A server with its first administrator, and browsers that sign in to it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Role } from '../../../kernel/http/principal.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type Reply, type TestServer, type TestServerOptions, testServer } from '../../../kit/test-server.ts'
import { readExposition } from '../../../test/support/exposition.ts'
import type { Users } from '../../users/exports.ts'
import type { HashPool } from '../password/hash-pool.ts'
import type { Passwords } from '../password/passwords.ts'
import type { Recovery } from '../password/recovery.ts'
import type { RunningTime } from '../throttle/running-time.ts'

export const origin = 'https://sluice.test'
export const root = { user_id: 'root', password: 'a long enough password' }
export const unauthenticated = { authorization: '' }

export interface Deps extends Kernel {
  readonly users: Users
  readonly passwords: Passwords
  readonly hashPool: HashPool
  readonly recovery: Recovery
  readonly runningTime: RunningTime
}
type Method = Parameters<TestServer['call']>[0]
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string }
}

export const depsOf = ({ server }: TestServer): Deps => server.depsOf('auth') as Deps

export const authServer = (t: Test, options: TestServerOptions = {}): Promise<TestServer> =>
  testServer(t, {
    plugins: ['users', 'auth', 'credentials'],
    ...options,
    keys: { operator_http_public_origin: origin, trusted_proxies: ['127.0.0.1'], ...options.keys }
  })

export const setupTokenOf = ({ log }: TestServer): string => {
  const line = log.findLast(({ event }) => event === 'onboarding.setup_token')
  return line?.message.slice(-43) ?? ''
}

export const onboard = (app: TestServer, body: object = {}): Promise<Reply<ErrorBody>> =>
  app.call(
    'POST',
    '/v1/auth/onboarding',
    {
      ...root,
      display_name: 'Root',
      password_confirm: root.password,
      setup_token: setupTokenOf(app),
      ...body
    },
    unauthenticated
  )

export async function onboardedServer(t: Test, options: TestServerOptions = {}): Promise<TestServer> {
  const app = await authServer(t, options)
  const { status } = await onboard(app)
  t.equal(status, 201, 'the first administrator is created')
  return app
}

export async function addUser(app: TestServer, userId: string, role: Role = 'user'): Promise<void> {
  const { store, users, passwords, hashPool } = depsOf(app)
  const hash = await hashPool.run(argon => argon.hash(root.password))
  await store.change(async em => {
    await users.insert(em, { userId, displayName: userId, role })
    await passwords.set(em, userId, hash, 'permanent')
  })
}

export const login = <B = ErrorBody>(
  app: TestServer,
  body: object = {},
  remoteAddr = '192.0.2.1'
): Promise<Reply<B>> =>
  app.call<B>(
    'POST',
    '/v1/auth/login',
    { ...root, ...body },
    { ...unauthenticated, 'x-forwarded-for': remoteAddr }
  )

export const cookieOf = ({ headers }: Reply<unknown>): string => String(headers['set-cookie'])

/** Signs in; the calls send the cookie and, by default, the CSRF proof. */
export async function signedInBrowser(app: TestServer, credentials: object = {}) {
  const [cookie = ''] = cookieOf(await login(app, credentials)).split(';')
  const csrfHeaders = { origin, 'x-svc-csrf': '1' }
  return {
    cookie,
    call: <B = ErrorBody>(
      method: Method,
      url: string,
      body?: object,
      headers: Record<string, string> = csrfHeaders
    ) => app.call<B>(method, url, body, { ...unauthenticated, cookie, ...headers })
  }
}

/** Returns `svc_sign_ins_total` by its labels; the server needs the plugin `metrics`. */
export async function signInsOf({ call }: TestServer): Promise<Readonly<Record<string, number>>> {
  const { text } = await call('GET', '/v1/metrics')
  return Object.fromEntries(readExposition(text).get('svc_sign_ins_total')?.series ?? [])
}

/** Returns all bytes of the store, including its write-ahead log. */
export const storeBytes = (dir: string): string =>
  readdirSync(dir)
    .filter(name => /\.db(-wal)?$/.test(name))
    .map(name => readFileSync(join(dir, name), 'latin1'))
    .join('')

/** Returns what the call threw, or null. */
export const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => null,
    (error: unknown) => error
  )
