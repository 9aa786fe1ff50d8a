import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { Fault } from '../../../kernel/base/errors.ts'
import { type Call, defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { fakeCpuTime } from '../../../test/support/cpu-time.ts'
import { FairTurns } from '../pipeline/fair-turns.ts'
import { KnownCredentials } from '../pipeline/known-credentials.ts'
import { httpFixture, superadmin, user } from './fixture.ts'

/** Turns with a clock that the test sets, and the payers in their order of service. */
function openTurns() {
  const served: string[] = []
  const refused: string[] = []
  const timers: (() => void)[] = []
  const hands = { now: 0 }
  const after = (_ms: number, work: () => void) => {
    timers.push(work)
    return () => {}
  }
  const turns = new FairTurns({ monotonic: () => hands.now, after }, payer => refused.push(payer))
  return {
    turns,
    served,
    refused,
    hands,
    /** Runs the check for late requests. */
    check: () => timers.shift()?.(),
    async ask(payer: string, response = openResponse(), what?: 'body' | 'change') {
      await turns.take(payer, response, what && { what })
      served.push(what === undefined ? payer : `${payer} ${what}`)
    }
  }
}

const openResponse = () => Object.assign(new EventEmitter(), { closed: false }) as unknown as ServerResponse

const times = <T>(count: number, make: () => Promise<T>): Promise<T>[] => Array.from({ length: count }, make)

t.test('a caller with many waiting requests delays the request of another by one turn', async t => {
  const { ask, served } = openTurns()

  const asked = [...times(100, () => ask('ann')), ask('bob')]
  await Promise.all(asked)

  t.ok(served.indexOf('bob') <= 1, `bob was served after ${served.indexOf('bob')}`)
  t.equal(served.length, 101)
})

t.test('turns run for 3 ms in each iteration of the event loop', async t => {
  const { ask, served, hands } = openTurns()
  const work = (): void => {
    hands.now += 2
  }
  const asked = times(10, () => ask('ann').then(work))

  for (let iteration = 1; iteration <= 5; iteration++) {
    await setImmediate()
    t.ok(served.length <= 2 * iteration, `${served.length} of 10 in iteration ${iteration}`)
  }
  await Promise.all(asked)
})

t.test(
  'callers that arrive together are served in one iteration of the event loop, which a sync may end',
  async t => {
    const { ask, served } = openTurns()

    const asked = ['ann', 'bob', 'eve'].map(payer => ask(payer))
    await setImmediate()

    t.same(served, ['ann', 'bob', 'eve'])
    await Promise.all(asked)
  }
)

t.test('the work of a turn is charged to its caller, and not what others do between turns', async t => {
  const { burn } = fakeCpuTime(t)
  const { ask, turns, hands } = openTurns()

  await ask('ann').then(() => burn(20))
  await setImmediate()
  burn(20)
  await ask('bob')

  turns.charge('ann', 985)
  turns.charge('bob', 985)
  t.ok(turns.isExceeded('ann'))
  t.notOk(turns.isExceeded('bob'))
  hands.now = 1_000
  t.notOk(turns.isExceeded('ann'), 'a tenth of a processor is regained')
})

t.test('a change is charged once, for its own work', async t => {
  const { burn } = fakeCpuTime(t)
  const { ask, turns } = openTurns()

  await ask('ann').then(() => {
    const charge = turns.meter('ann')
    burn(20)
    charge()
  })
  await setImmediate()
  const charge = turns.meter('ann')
  burn(30)
  await ask('bob').then(() => burn(40))
  await setImmediate()
  charge()

  turns.charge('ann', 950)
  turns.charge('bob', 960)
  t.notOk(turns.isExceeded('ann'), 'not twice in its turn, and not for bob')
  t.notOk(turns.isExceeded('bob'))
  turns.charge('ann', 1)
  turns.charge('bob', 1)
  t.ok(turns.isExceeded('ann'))
  t.ok(turns.isExceeded('bob'))
})

t.test('a caller beyond its budget gets every eighth turn while others are within theirs', async t => {
  const { ask, served, turns } = openTurns()
  turns.charge('ann', 2_000)

  await Promise.all([...times(20, () => ask('ann')), ...times(28, () => ask('bob'))])

  const turnsOfAnn = served.slice(0, 32).flatMap((payer, at) => (payer === 'ann' ? [at % 8] : []))
  t.same(turnsOfAnn, [7, 7, 7, 7])
  t.same(served.slice(32), Array(16).fill('ann'), 'alone it gets all of them')
})

t.test('users take their turns before addresses, which get every fourth of them', async t => {
  const { ask, served } = openTurns()
  const strangers = Array.from({ length: 8 }, (_, i) => `address 192.0.2.${i}`)

  await Promise.all([...strangers.map(address => ask(address)), ...times(12, () => ask('user ann'))])

  const turnsOfAnn = served.slice(0, 16).flatMap((payer, at) => (payer === 'user ann' ? [at] : []))
  t.same(turnsOfAnn, [0, 2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 15])
  t.same(
    served.filter(payer => payer !== 'user ann'),
    strangers
  )
})

t.test('callers beyond their budgets share the turns equally', async t => {
  const { ask, served, turns } = openTurns()
  for (const payer of ['ann', 'bob', 'eve']) turns.charge(payer, 2_000)

  await Promise.all(['ann', 'bob', 'eve'].flatMap(payer => times(10, () => ask(payer))))

  for (let round = 0; round < 10; round++)
    t.same(new Set(served.slice(round * 3, round * 3 + 3)).size, 3, `round ${round}`)
})

t.test('a body is read before requests of its caller that arrived earlier', async t => {
  const { ask, served } = openTurns()

  await Promise.all([ask('ann'), ask('ann'), ask('ann', openResponse(), 'body')])

  t.same(served, ['ann body', 'ann', 'ann'])
})

t.test('a caller is refused after 15 s only if others used the time', async t => {
  const { ask, served, refused, turns, hands, check } = openTurns()
  turns.charge('ann', 60_000)
  const settled = Promise.allSettled([ask('ann'), ask('bob')])

  hands.now = 14_000
  turns.charge('bob', 10_000)
  check()
  t.same(refused, [], 'it is early')
  hands.now = 15_000
  check()
  t.same(refused, ['ann'])

  const [ann] = await settled
  t.same(served, ['bob'])
  t.ok(ann.status === 'rejected' && ann.reason instanceof Fault)
  t.match(ann, { reason: { errorCode: { code: 'rate_limited' }, details: { retry_after_secs: 5 } } })
})

t.test('a caller that is alone is never refused, whatever it uses', async t => {
  const { ask, served, refused, turns, hands, check } = openTurns()
  turns.charge('ann', 60_000)
  const asked = times(3, () => ask('ann'))

  hands.now = 60_000
  turns.charge('ann', 60_000)
  check()
  await Promise.all(asked)

  t.same(refused, [])
  t.equal(served.length, 3)
})

t.test('a flood with one credential does not delay another credential from its address', async t => {
  const { turns } = openTurns()
  const served: string[] = []
  const ask = async (lane: string): Promise<void> => {
    await turns.take('address', openResponse(), { lane })
    served.push(lane)
  }

  await Promise.all([...times(100, () => ask('ann')), ask('bob')])

  t.equal(served.indexOf('bob'), 1)
  t.equal(served.length, 101)
})

t.test('a caller that disconnects leaves its place', async t => {
  const { ask, served } = openTurns()
  const response = openResponse()
  void ask('ann', response)

  response.emit('close')
  await ask('ann')
  await setImmediate()

  t.same(served, ['ann'])
})

t.test(
  'later changes of a request take turns with others, and are made although the caller disconnects',
  async t => {
    const { turns, ask, served, refused, hands, check } = openTurns()
    turns.charge('user eve', 2_000)
    const response = openResponse()

    const asked = [
      ask('user eve', response, 'change'),
      ask('user eve', response),
      ...times(3, () => ask('user ann'))
    ]
    response.emit('close')
    hands.now += 20_000
    turns.charge('user bob', 20_000)
    check()
    await Promise.all([asked[0], ...asked.slice(2)])

    t.same(served, ['user ann', 'user ann', 'user ann', 'user eve change'])
    t.same(refused, [])
  }
)

t.test('a debt is not forgotten, however many callers come', async t => {
  const { turns, hands } = openTurns()
  const held = (known: FairTurns): boolean => known.isExceeded('debtor')
  turns.charge('debtor', 1_000_000)

  for (let i = 0; i < 5_000; i++) {
    hands.now++
    turns.charge(`address ${i}`, 0.05)
  }

  t.ok(held(turns), 'a debt stays')
})

const path = (
  url: string,
  method: 'GET' | 'POST',
  access: 'public' | 'user',
  run: (call: Call) => void | Promise<void>
) =>
  defineRoute({
    method,
    url,
    action: `thing.${method}${url}`,
    access,
    summary: 'Works.',
    schema: () => ({
      reply: Type.String(),
      ...(method === 'POST' && { body: Type.Object({ list: Type.Array(Type.Number()) }, closed) })
    }),
    run: async (_: Kernel, call) => {
      await run(call)
      return 'ok'
    }
  })
const closed = { additionalProperties: false }

t.test('a change that works after its turn counts towards the budget of its caller', async t => {
  const { burn } = fakeCpuTime(t)
  const order: string[] = []
  const { http } = await httpFixture(t, {
    routes: [
      path('/v1/read', 'GET', 'user', ({ principal }) => void order.push(principal.userId)),
      path('/v1/write', 'POST', 'user', ({ change }) =>
        change({ kind: 'thing', id: '1' }, async () => {
          await setImmediate()
          await setImmediate()
          burn(1_500)
        })
      )
    ]
  })
  const send = (method: 'GET' | 'POST', url: string, headers: typeof user, remoteAddress: string) =>
    http.app.inject({
      method,
      url,
      headers,
      remoteAddress,
      ...(method === 'POST' && { payload: { list: [] } })
    })
  const read = (headers: typeof user, remoteAddress: string) => () =>
    send('GET', '/v1/read', headers, remoteAddress)

  t.equal((await send('POST', '/v1/write', user, '192.0.2.1')).statusCode, 200)
  await read(superadmin, '192.0.2.2')()
  await Promise.all([...times(9, read(user, '192.0.2.1')), ...times(9, read(superadmin, '192.0.2.2'))])

  t.same(order.slice(-5), Array(5).fill('bob'), `${order}`) // in turns, ada would be last
})

t.test('a flood with invalid credentials does not delay a user of the same address', async t => {
  const { burn } = fakeCpuTime(t)
  const order: string[] = []
  const { http } = await httpFixture(t, {
    routes: [
      path('/v1/read', 'GET', 'user', ({ principal }) => void order.push(principal.userId)),
      path('/v1/login', 'POST', 'public', () => burn(1_500))
    ]
  })
  const read = (headers: typeof user, remoteAddress: string) =>
    http.app.inject({ url: '/v1/read', headers, remoteAddress })
  const login = { method: 'POST', url: '/v1/login', payload: { list: [] } } as const
  t.equal((await read(user, '192.0.2.1')).statusCode, 200)
  await http.app.inject({ ...login, remoteAddress: '192.0.2.1' })
  order.length = 0

  const flood = Array.from({ length: 20 }, (_, i) =>
    read({ authorization: `Bearer guess-${i}` }, '192.0.2.1')
  )
  const others = times(30, () => read(superadmin, '192.0.2.2'))
  await Promise.all([...flood, ...others, read(user, '192.0.2.1')])

  t.equal(order.length, 31)
  t.ok(order.indexOf('bob') <= 2, `served as number ${order.indexOf('bob')}`)
})

const address = '192.0.2.1'

t.test('a credential that has become invalid is no longer paid by its user', async t => {
  const known = new KnownCredentials({ isAllowed: () => true })
  known.remember('Bearer a', 'user ann')
  known.remember('Bearer b', 'user ann')

  known.forget('Bearer a', address)

  t.equal(known.payerOf('Bearer a', address), undefined)
  t.equal(known.payerOf('Bearer b', address), 'user ann')
})

t.test(
  'a token is known only where its sources allow it, and a refusal elsewhere forgets nothing',
  async t => {
    const known = new KnownCredentials({ isAllowed: (_token, from) => from === address })
    const token = { id: 'c', lastUsedAt: null, expiresAt: null, scopes: null, allowedSources: address }
    known.remember('Bearer a', 'user ann', token)

    known.forget('Bearer a', '198.51.100.7')

    t.equal(known.payerOf('Bearer a', '198.51.100.7'), undefined)
    t.equal(known.payerOf('Bearer a', address), 'user ann')
  }
)

t.test('a user with many credentials evicts only its own, and only those it used least recently', async t => {
  const known = new KnownCredentials({ isAllowed: () => true })
  known.remember('Bearer bob', 'user bob')

  for (let i = 0; i < 2_000; i++) known.remember(`Bearer ${i}`, 'user ann')

  t.equal(known.payerOf('Bearer bob', address), 'user bob')
  t.equal(known.payerOf('Bearer 1991', address), undefined)
  t.equal(known.payerOf('Bearer 1992', address), 'user ann')
})

async function busyServer(t: Test) {
  const order: string[] = []
  const note = (what: string) => (): void => void order.push(what)
  const { http } = await httpFixture(t, {
    routes: [
      path('/v1/write', 'POST', 'user', note('write')),
      path('/v1/read', 'GET', 'user', note('read')),
      path('/livez', 'GET', 'public', note('live'))
    ]
  })
  const payload = { list: Array.from({ length: 1000 }, (_, i) => i) }
  const burst = times(100, () =>
    http.app.inject({ method: 'POST', url: '/v1/write', headers: user, payload, remoteAddress: '192.0.2.1' })
  )
  return { order, burst, inject: http.app.inject.bind(http.app) }
}

t.test('a burst of writes of one user does not delay the read of another', async t => {
  const { order, burst, inject } = await busyServer(t)

  const read = inject({ url: '/v1/read', headers: superadmin, remoteAddress: '192.0.2.2' })
  const replies = await Promise.all([...burst, read])

  t.same(new Set(replies.map(({ statusCode }) => statusCode)), new Set([200]))
  t.ok(order.indexOf('read') <= 5, `${order.indexOf('read')} writes were first`)
})

t.test('/livez is answered before all requests that wait, also for their caller', async t => {
  const { order, burst, inject } = await busyServer(t)

  await Promise.all([...burst, inject({ url: '/livez', remoteAddress: '192.0.2.1' })])

  t.ok(order.indexOf('live') <= 1, `${order.indexOf('live')} writes were first`)
})
