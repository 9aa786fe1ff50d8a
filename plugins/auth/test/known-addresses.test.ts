// Lockouts of an address that a user shares with an attacker, such as loopback behind a forwarded port.
import t from 'tap'
import { KnownAddress } from '../entities.ts'
import type { HashPool } from '../password/hash-pool.ts'
import { openAttempts } from '../throttle/attempts.ts'
import type { KnownAddresses } from '../throttle/known-addresses.ts'
import type { StepLimit } from '../throttle/step-limit.ts'
import type { Throttle } from '../throttle/throttle.ts'
import { addUser, depsOf, login, onboardedServer, origin, root, unauthenticated } from './fixture.ts'

const shared = '198.51.100.7'
const wrong = { password: 'wrong wrong wrong' }
type Throttled = ReturnType<typeof depsOf> & { readonly throttle: Throttle; readonly stepLimit: StepLimit }

/** A server on which root has signed in from the shared address, which is then locked out. */
async function lockedServer(t: Parameters<typeof onboardedServer>[0]) {
  const app = await onboardedServer(t)
  const { throttle, stepLimit } = depsOf(app) as Throttled
  t.equal((await login(app, {}, shared)).status, 200)
  for (let i = 0; i < 50; i++)
    await throttle.recordFailure({ action: 'login', subject: `guess-${i}`, remoteAddr: shared })
  return { app, throttle, stepLimit }
}

t.test('a user signs in from a known address although others have locked it', async t => {
  const { app } = await lockedServer(t)
  await addUser(app, 'ann')

  t.equal((await login(app, {}, shared)).status, 200, 'root signed in from there before')
  t.equal((await login(app, { user_id: 'ann' }, shared)).status, 429, 'ann did not')
  t.equal((await login(app, { user_id: 'ann' }, '198.51.100.8')).status, 200)
})

t.test('a refusal does not reveal who has signed in from a locked address', async t => {
  const { app } = await lockedServer(t)
  const replies = []
  for (const user_id of ['root', 'nobody', 'root'])
    replies.push(await login(app, { ...wrong, user_id }, shared))

  const shown = replies.map(({ status, text, headers }) => [status, text, headers['retry-after']])
  t.equal(shown[0]?.[0], 429)
  t.strictSame(shown[0], shown[1])
  t.strictSame(shown[2], shown[1])
})

t.test('known and unknown callers wait equally long for a refusal', async t => {
  const { app, throttle, stepLimit } = await lockedServer(t)
  const { clock } = app
  const hashPool: HashPool = { run: async work => work(null as never), refuseIfFull: () => {} }
  const pauses: number[] = []
  const attempt = openAttempts(
    { clock, throttle, stepLimit, hashPool },
    async ms => void pauses.push(ms ?? 0) as never
  )
  const fail = (subject: string, hashMs: number) =>
    attempt({ action: 'login', subject, remoteAddr: shared }, async () => {
      await clock.advance(hashMs)
      return null
    }).then(
      () => 'tried',
      ({ details }: { readonly details: object }) => details
    )

  const seen = [await fail('root', 100), await fail('nobody', 100)]

  t.strictSame(seen[0], seen[1])
  t.strictSame(pauses, [1400, 1500], 'the time of the hash counts')
})

t.test('a known caller has five separate attempts, and unknown ones cost no hash', async t => {
  const { app, throttle, stepLimit } = await lockedServer(t)
  const { clock } = app
  let hashes = 0
  const hashPool: HashPool = {
    run: async work => {
      hashes++
      return work(null as never)
    },
    refuseIfFull: () => {}
  }
  const attempt = openAttempts({ clock, throttle, stepLimit, hashPool }, async () => undefined as never)
  const guess = (subject: string) =>
    attempt({ action: 'login', subject, remoteAddr: shared }, async () => null).catch(() => null)

  for (let i = 0; i < 20; i++) await guess(`user-${i}`)
  t.equal(hashes, 0)
  for (let i = 0; i < 20; i++) await guess('root')
  t.equal(hashes, 5)
  t.equal((await login(app, {}, shared)).status, 429)

  await clock.advance(60_000)
  t.equal((await login(app, {}, shared)).status, 200, 'a minute later')
})

t.test(
  'a tenant at the address of an administrator locks nobody out who signs in with a known browser',
  async t => {
    const app = await onboardedServer(t)
    const signInWith = (key: string | null, password = root.password) =>
      app.call(
        'POST',
        '/v1/auth/login',
        { ...root, password },
        { ...unauthenticated, 'x-forwarded-for': shared, ...(key !== null && { 'x-svc-session-key': key }) }
      )
    const own = 'the-browser-of-root-0123456789'
    t.equal((await signInWith(own)).status, 200)
    for (let i = 0; i < 60; i++)
      await signInWith(i % 2 ? 'another-browser-0123456789' : null, 'wrong wrong wrong')

    t.equal((await signInWith(null)).status, 429, 'by the address, it is locked')
    t.equal((await signInWith(own)).status, 200)
    for (let i = 0; i < 5; i++) t.equal((await signInWith(own, 'wrong wrong wrong')).status, 401)
    t.equal((await signInWith(own)).status, 429, 'a known browser has five attempts, too')
  }
)

t.test('an administrator resets passwords from a known address although others have locked it', async t => {
  const { app } = await lockedServer(t)
  await addUser(app, 'ann')
  const signedIn = await login(app, {}, shared)
  const [cookie = ''] = String(signedIn.headers['set-cookie']).split(';')
  const headers = { ...unauthenticated, cookie, origin, 'x-svc-csrf': '1', 'x-forwarded-for': shared }

  t.equal((await app.call('POST', '/v1/users/ann/password', {}, headers)).status, 200)
})

t.test('the latest 40 addresses of a user are known, and none of a deleted one', async t => {
  const app = await onboardedServer(t)
  await addUser(app, 'ann')
  const { store, ...deps } = depsOf(app) as Throttled & { readonly knownAddresses: KnownAddresses }
  const { knownAddresses } = deps
  const addressOf = (i: number) => `2001:db8:0:${i}::1`
  for (const user of ['ann', 'root'])
    for (let i = 1; i <= 45; i++) {
      await store.change(em => knownAddresses.record(em, user, { remoteAddr: addressOf(i), keyHash: null }))
      await app.clock.advance(1)
    }
  const isKnown = (i: number) => store.read(em => knownAddresses.has(em, 'ann', addressOf(i)))

  t.equal(await isKnown(5), false)
  t.equal(await isKnown(6), true)
  t.equal(await store.read(em => knownAddresses.has(em, 'ann', '2001:db8:0:45:ffff::9')), true, 'in its /64')
  t.equal((await app.call('DELETE', '/v1/users/ann')).status, 200)
  const users = await store.read(em => em.find(KnownAddress, {}))
  t.strictSame([...new Set(users.map(({ userId }) => userId))], ['root'])
  t.equal((await login(app, { ...root }, shared)).status, 200)
})
