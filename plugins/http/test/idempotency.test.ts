import t from 'tap'
import { Type } from 'typebox'
import { ackTimeout, clientNotFound, Fault, notOwner, storeUnavailable } from '../../../kernel/base/errors.ts'
import { type Call, defineRoute, type Route } from '../../../kernel/http/route.ts'
import { User } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { IdempotencyRecord } from '../entities.ts'
import { httpFixture, superadmin, user } from './fixture.ts'

const dayMs = 24 * 3_600_000
const keyed = (key: string, caller = superadmin) => ({ ...caller, 'idempotency-key': key })

/** Returns a route that counts its runs. */
function counting(run: (call: Call, count: number) => Promise<unknown>, more: Partial<Route<Kernel>> = {}) {
  const seen = { count: 0 }
  const route = defineRoute({
    method: 'POST',
    url: '/v1/things',
    action: 'thing.make',
    access: 'user',
    status: 201,
    summary: 'Makes.',
    schema: () => ({
      body: Type.Object({ name: Type.Optional(Type.String()) }, { additionalProperties: false }),
      reply: Type.Unknown()
    }),
    run: (_deps: Kernel, call) => run(call as Call, ++seen.count),
    ...more
  })
  return { seen, routes: [route] }
}

const change = async (call: Call, count: number) =>
  call.change({ kind: 'thing', id: `thing-${count}` }, async () => ({ count }))

t.test('the same key and body get the first response again', async t => {
  const { seen, routes } = counting(change)
  const { send, decisions } = await httpFixture(t, { routes })

  const first = await send('POST', '/v1/things', keyed('k'), { name: 'a' })
  const again = await send('POST', '/v1/things', keyed('k'), { name: 'a' })

  t.match(
    [first, again],
    [
      { status: 201, body: { count: 1 } },
      { status: 201, body: { count: 1 } }
    ]
  )
  t.match(again.headers['content-type'], /json/)
  t.equal(seen.count, 1)
  t.match(decisions, [
    { status: 201, resourceId: 'thing-1' },
    { status: 201, resourceId: 'thing-1' }
  ])
})

t.test('another body under the same key is refused', async t => {
  const { routes } = counting(change)
  const { send } = await httpFixture(t, { routes })

  await send('POST', '/v1/things', keyed('k'), { name: 'a' })

  t.match(await send('POST', '/v1/things', keyed('k'), { name: 'b' }), {
    status: 422,
    body: { error: { code: 'idempotency_key_reused' } }
  })
  t.match(await send('POST', '/v1/things', keyed('k'), { name: 'a' }), { status: 201, body: { count: 1 } })
})

t.test('a key is valid for one principal, method and path', async t => {
  const { seen, routes } = counting(change)
  const put = { ...routes[0], method: 'PUT', action: 'thing.put' } as Route<Kernel>
  const { send } = await httpFixture(t, { routes: [...routes, put] })

  await send('POST', '/v1/things', keyed('k'))
  await send('POST', '/v1/things', keyed('k', user))
  await send('PUT', '/v1/things', keyed('k'))

  t.equal(seen.count, 3)
})

t.test('a retry during the first request is refused', async t => {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { routes } = counting(async (call, count) => {
    begun.resolve()
    await gate.promise
    return change(call, count)
  })
  const { send } = await httpFixture(t, { routes })

  const first = send('POST', '/v1/things', keyed('k'), { name: 'a' })
  await begun.promise
  let repeat = await send('POST', '/v1/things', keyed('k'), { name: 'b' })
  t.match(repeat, { status: 422, body: { error: { code: 'idempotency_key_reused' } } })
  repeat = await send('POST', '/v1/things', keyed('k'), { name: 'a' })
  t.match(repeat, { status: 409, body: { error: { code: 'idempotency_in_progress' } } })
  gate.resolve()

  t.match(await first, { status: 201 })
  t.match(await send('POST', '/v1/things', keyed('k'), { name: 'a' }), { status: 201, body: { count: 1 } })
})

t.test('the same key at two servers at once makes the change once', async t => {
  const isBegun = Promise.withResolvers<void>()
  const { seen, routes } = counting(async (call, count) => {
    if (count === 2) isBegun.resolve()
    await isBegun.promise // both have found no earlier request
    return change(call, count)
  })
  const one = await httpFixture(t, { routes })
  const other = await httpFixture(t, { routes, beside: one })
  const post = ({ send }: typeof one) => send('POST', '/v1/things', keyed('k'), { name: 'a' })

  const answers = await Promise.all([one, other].map(post))

  const made = answers.find(({ status }) => status === 201)
  t.match(
    answers.find(({ status }) => status !== 201),
    {
      status: 409,
      body: { error: { code: 'idempotency_in_progress' } }
    }
  )
  for (const server of [one, other])
    t.match(await post(server), { status: 201, body: { count: made?.body['count'] } })
  t.equal(seen.count, 2, 'no more')
})

t.test(
  'if a peer server has made the change of a key, a refusal asks for a retry, which gets the reply',
  async t => {
    const [isBegun, isMade] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { routes } = counting(async (call, count) => {
      if (count === 1) {
        isBegun.resolve()
        await isMade.promise
        throw new Fault(clientNotFound, 'gone')
      }
      return change(call, count)
    })
    const one = await httpFixture(t, { routes })
    const other = await httpFixture(t, { routes, beside: one })

    const refused = one.send('POST', '/v1/things', keyed('k'))
    await isBegun.promise
    t.match(await other.send('POST', '/v1/things', keyed('k')), { status: 201, body: { count: 2 } })
    isMade.resolve()

    t.match(await refused, { status: 409, body: { error: { code: 'idempotency_in_progress' } } })
    t.match(await one.send('POST', '/v1/things', keyed('k')), { status: 201, body: { count: 2 } })
  }
)

t.test('an outage of the store at the first key does not refuse all later keys', async t => {
  const { seen, routes } = counting(change)
  const { send, store } = await httpFixture(t, { routes })
  const { change: changed } = store
  store.change = async () => Promise.reject(new Fault(storeUnavailable, 'unavailable'))
  t.match(await send('POST', '/v1/things', keyed('k')), { status: 503 })
  store.change = changed

  t.match(await send('POST', '/v1/things', keyed('k')), { status: 201 })
  t.equal(seen.count, 1)
})

t.test('a refusal is kept, unless a retry may succeed', async t => {
  for (const [fault, runs] of [
    [new Fault(clientNotFound, 'gone'), 1],
    [new Fault(notOwner, 'not yours'), 2],
    [new Error('broken'), 2]
  ] as const) {
    const { seen, routes } = counting(async () => Promise.reject(fault))
    const { send } = await httpFixture(t, { routes, dir: t.testdir() })

    const first = await send('POST', '/v1/things', keyed('k'))
    const again = await send('POST', '/v1/things', keyed('k'))

    t.same(again.body.error.message.slice(0, 9), first.body.error.message.slice(0, 9))
    t.equal(again.status, first.status)
    t.equal(seen.count, runs, fault.message)
  }
})

t.test('a validation error is kept, too', async t => {
  const { routes } = counting(change)
  const { send, decisions } = await httpFixture(t, { routes })

  await send('POST', '/v1/things', keyed('k'), { nmae: 'a' })

  const again = await send('POST', '/v1/things', keyed('k'), { nmae: 'a' })
  t.match(again, { status: 400, body: { error: { code: 'validation.unknown_field' } } })
  t.match(await send('POST', '/v1/things', keyed('k'), { name: 'a' }), { status: 422 })
  t.match(decisions[1], { status: 400, reason: 'validation.unknown_field' })
})

t.test('after a time-out the retry returns the current state and creates nothing', async t => {
  const { seen, routes } = counting(
    async call => {
      await call.change({ kind: 'thing', id: 'thing-1' }, async () => null)
      throw new Fault(ackTimeout, 'no answer')
    },
    {
      outcome: 'deferred',
      replay: async (_deps: Kernel, _call: Call, id: string) => ({ id, state: 'active' })
    }
  )
  const { send } = await httpFixture(t, { routes })

  t.match(await send('POST', '/v1/things', keyed('k')), { status: 504 })
  for (const _ of [1, 2])
    t.match(await send('POST', '/v1/things', keyed('k')), {
      status: 201,
      body: { id: 'thing-1', state: 'active' }
    })
  t.equal(seen.count, 1)
})

t.test('after a crash between change and response the retry returns the changed resource', async t => {
  const dir = t.testdir()
  const more = { replay: async (_deps: Kernel, _call: Call, id: string) => ({ id }) }
  const before = counting(change, more)
  const crashed = await httpFixture(t, { routes: before.routes, dir })
  await crashed.send('POST', '/v1/things', keyed('k'))
  await crashed.store.change(em => em.nativeUpdate(IdempotencyRecord, {}, { status: null, answer: null })) // as after the change
  await crashed.close()
  const after = counting(change, more)
  const { send } = await httpFixture(t, { routes: after.routes, dir, users: 'none' })

  t.match(await send('POST', '/v1/things', keyed('k')), { status: 201, body: { id: 'thing-1' } })
  t.equal(after.seen.count, 0)
})

t.test('a retry names the resource if the response was lost and cannot be replayed', async t => {
  const fails = async (call: Call, count: number) => {
    await change(call, count)
    throw new Error('x')
  }
  const made = await httpFixture(t, { routes: counting(fails).routes })
  await made.send('POST', '/v1/things', keyed('k'))
  t.match(await made.send('POST', '/v1/things', keyed('k')), {
    status: 409,
    body: {
      error: { code: 'idempotency_secret_spent', details: { resource_kind: 'thing', resource_id: 'thing-1' } }
    }
  })

  const removed = await httpFixture(t, { routes: counting(fails, { status: 204 }).routes, dir: t.testdir() })
  await removed.send('POST', '/v1/things', keyed('k'))
  t.match(await removed.send('POST', '/v1/things', keyed('k')), { status: 204 })
})

t.test('a response with a secret is not kept', async t => {
  const { seen, routes } = counting(
    async call => call.change({ kind: 'credential', id: 'c-1' }, async () => ({ token: 'svct_abc' })),
    { secrets: ['token'] }
  )
  const { send, store } = await httpFixture(t, { routes })

  t.match(await send('POST', '/v1/things', keyed('k')), { status: 201, body: { token: 'svct_abc' } })
  for (const _ of [1, 2])
    t.match(await send('POST', '/v1/things', keyed('k')), {
      status: 409,
      body: {
        error: {
          code: 'idempotency_secret_spent',
          details: { resource_kind: 'credential', resource_id: 'c-1' }
        }
      }
    })
  t.equal(seen.count, 1)
  t.notMatch(JSON.stringify(await store.read(em => em.find(IdempotencyRecord, {}))), /svct_/)
})

t.test('a response that might have held a secret and held none is repeated', async t => {
  const { seen, routes } = counting(change, { secrets: ['token'] })
  const { send } = await httpFixture(t, { routes })

  for (const _ of [1, 2])
    t.match(await send('POST', '/v1/things', keyed('k')), { status: 201, body: { count: 1 } })
  t.equal(seen.count, 1)
})

t.test('a body with its keys in another order is the same body', async t => {
  const { seen, routes } = counting(change, {
    schema: () => ({ body: Type.Unknown(), reply: Type.Unknown() })
  })
  const { http } = await httpFixture(t, { routes })
  const post = async (payload: string) =>
    http.app.inject({
      method: 'POST',
      url: '/v1/things',
      headers: { ...keyed('k'), 'content-type': 'application/json' },
      payload
    })

  t.equal((await post('{"a": 1.0, "b": [{"d": 2, "c": "\\u00e9"}]}')).statusCode, 201)
  t.equal((await post('{"b": [{"c": "é", "d": 2e0}], "a": 1}')).statusCode, 201)
  t.equal((await post('{"b": [{"c": "é", "d": 3}], "a": 1}')).statusCode, 422)
  t.equal(seen.count, 1)
})

t.test('a repeated refusal is recorded without a resource', async t => {
  const { routes } = counting(async () => Promise.reject(new Fault(clientNotFound, 'x')))
  const { send, decisions } = await httpFixture(t, { routes })

  for (const _ of [1, 2]) t.equal((await send('POST', '/v1/things', keyed('k'))).status, 404)

  for (const decision of decisions) t.match(decision, { status: 404, resourceKind: null, resourceId: null })
  t.equal(decisions.length, 2)
})

t.test('a response without a body is repeated without one', async t => {
  const { seen, routes } = counting(async (call, count) => void (await change(call, count)), { status: 204 })
  const { http } = await httpFixture(t, { routes })
  const post = () => http.app.inject({ method: 'POST', url: '/v1/things', headers: keyed('k') })

  for (const { statusCode, body } of [await post(), await post()])
    t.match({ statusCode, body }, { statusCode: 204, body: '' })
  t.equal(seen.count, 1)
})

t.test('a step of the clock repeats no change', async t => {
  const { seen, routes } = counting(change)
  const { send, clock } = await httpFixture(t, { routes })
  await send('POST', '/v1/things', keyed('k'))

  for (const ms of [400 * dayMs, -800 * dayMs, 400 * dayMs]) {
    clock.step(ms)
    await send('POST', '/v1/things', keyed('other'))
    await send('POST', '/v1/things', keyed('k'))
  }

  t.equal(seen.count, 2)
})

t.test('a change on a server with a slow clock is made once, however many keys there are', async t => {
  const { seen, routes } = counting(change)
  const { send, store, clock } = await httpFixture(t, { routes })
  const row = { principal: 'ada', bodyMac: '', resourceKind: '', resourceId: '', createdAt: clock.now() }
  await store.change(em =>
    em.insertMany(
      IdempotencyRecord,
      Array.from({ length: 1000 }, (_, i) => ({ ...row, id: `other-${i}` }))
    )
  )

  clock.step(-2 * 3_600_000)
  await send('POST', '/v1/things', keyed('k'))
  await send('POST', '/v1/things', keyed('k2'))
  await send('POST', '/v1/things', keyed('k'))

  t.equal(seen.count, 2)
})

t.test('a key is valid on a server with a clock behind that of the server that created the user', async t => {
  const { seen, routes } = counting(change)
  const { send, store, clock } = await httpFixture(t, { routes })
  await store.change(em => em.nativeUpdate(User, { id: 'bob' }, { createdAt: clock.now() + 3_600_000 }))

  await send('POST', '/v1/things', keyed('k', user))
  await send('POST', '/v1/things', keyed('k', user))

  t.equal(seen.count, 1)
})

t.test('a response is kept for a day, and at most 1,000 per principal', async t => {
  const { seen, routes } = counting(change)
  const { send, store, clock } = await httpFixture(t, { routes })

  await send('POST', '/v1/things', keyed('k'))
  await clock.advance(dayMs - 1)
  await send('POST', '/v1/things', keyed('k'))
  t.equal(seen.count, 1)
  await clock.advance(1)
  await send('POST', '/v1/things', keyed('k'))
  t.equal(seen.count, 2)

  const row = { principal: 'ada', bodyMac: '', resourceKind: '', resourceId: '', createdAt: clock.now() - 1 }
  await store.change(em =>
    em.insertMany(
      IdempotencyRecord,
      Array.from({ length: 1000 }, (_, i) => ({ ...row, id: `old-${i}` }))
    )
  )
  await store.change(em => em.insert(IdempotencyRecord, { ...row, id: 'of bob', principal: 'bob' }))
  await send('POST', '/v1/things', keyed('k2'))
  t.equal(await store.read(em => em.count(IdempotencyRecord, { principal: 'ada' })), 1000)
  t.equal(await store.read(em => em.count(IdempotencyRecord, { principal: 'bob' })), 1, 'others keep theirs')
  await send('POST', '/v1/things', keyed('k'))
  t.equal(seen.count, 3, 'the newest records stay')
})

t.test('a key is 1 to 128 well-formed characters; reads and the auth routes ignore it', async t => {
  const { seen, routes } = counting(change)
  const [route] = routes as [Route<Kernel>]
  const login = { ...route, url: '/v1/auth/login', action: 'auth.login' }
  const read = { ...route, method: 'GET', action: 'thing.read', status: 200 } as Route<Kernel>
  const { send } = await httpFixture(t, { routes: [route, login, read] })

  for (const key of ['', 'a b', 'ä', 'k'.repeat(129)])
    t.match(await send('POST', '/v1/things', keyed(key)), {
      status: 400,
      body: { error: { code: 'validation.idempotency_key' } }
    })
  t.equal(seen.count, 0)
  for (const _ of [1, 2]) await send('POST', '/v1/auth/login', keyed('k k'))
  t.equal(seen.count, 2)
  for (const _ of [1, 2]) await send('GET', '/v1/things', keyed('k k'))
  t.equal(seen.count, 4)
})

t.test('a change that is rolled back leaves no key behind', async t => {
  const { seen, routes } = counting((call, count) =>
    call.change({ kind: 'user', id: 'bob' }, async em => {
      await em.nativeUpdate(User, { id: 'bob' }, { displayName: 'robert' })
      if (count === 1) throw new Error('disk')
      return count
    })
  )
  const { send } = await httpFixture(t, { routes })

  t.match(await send('POST', '/v1/things', keyed('k')), { status: 500 })
  t.match(await send('POST', '/v1/things', keyed('k')), { status: 201 })
  t.equal(seen.count, 2)
})

t.test('a later user of the same name does not get the responses of the earlier one', async t => {
  const { seen, routes } = counting(change)
  const { send, store, clock } = await httpFixture(t, { routes })
  await send('POST', '/v1/things', keyed('k', user), { name: 'a' })
  await clock.advance(1000)
  await store.change(em => em.nativeUpdate(User, { id: 'bob' }, { createdAt: clock.now() }))

  const reply = await send('POST', '/v1/things', keyed('k', user), { name: 'a' })

  t.match(reply, { status: 201, body: { count: 2 } })
  t.equal(seen.count, 2)
})
