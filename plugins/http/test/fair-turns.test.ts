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
    async ask(payer: string, response = openResponse(), what?: 'body') {
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

t.test('one turn runs in each iteration of the event loop', async t => {
  const { ask, served } = openTurns()
  const asked = times(10, () => ask('ann'))

  for (let iteration = 1; iteration <= 10; iteration++) {
    await setImmediate()
    t.ok(served.length <= iteration, `${served.length} of 10`)
  }
  await Promise.all(asked)
})

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
  await Promise.all([...times(3, read(user, '192.0.2.1')), ...times(3, read(superadmin, '192.0.2.2'))])

  t.same(order.slice(-2), ['bob', 'bob'], `${order}`) // in turns, ada would be last
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
