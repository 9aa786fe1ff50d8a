import t from 'tap'
import { Type } from 'typebox'
import { ackTimeout, clientNotFound, defineCode, Fault, notOwner } from '../../../kernel/base/errors.ts'
import { type Call, defineRoute, type Route } from '../../../kernel/http/route.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { slotReader } from '../../../kernel/slot.ts'
import { type LogLine, recordLog } from '../../../kit/record-log.ts'
import { type DecisionSink, decisionSlot, openRecorder, requiredDecisionSlot } from '../change/decision.ts'
import { httpFixture, superadmin, user } from './fixture.ts'

const post = (run: (call: Call) => Promise<unknown>, more: Partial<Route<Kernel>> = {}) =>
  defineRoute({
    method: 'POST',
    url: '/v1/things',
    action: 'thing.make',
    access: 'user',
    status: 201,
    summary: 'Makes.',
    schema: () => ({ reply: Type.Unknown() }),
    run: (_deps: Kernel, call) => run(call),
    ...more
  })

const rename = (call: Call) =>
  call.change({ kind: 'user', id: 'bob' }, em =>
    em.nativeUpdate(User, { id: 'bob' }, { displayName: 'robert' })
  )

t.test('a change and its decision are one transaction, and the decision names the resource', async t => {
  const { send, decisions, clock } = await httpFixture(t, { routes: [post(rename)] })

  await send('POST', '/v1/things?x', { ...user, 'x-request-id': 'r-1' })
  await send('POST', '/v1/things', { ...user, 'x-request-id': 'r-1' })

  t.equal(decisions.length, 2)
  t.match(decisions[1], {
    id: /^[0-9A-Z]{26}$/,
    timestamp: clock.now(),
    action: 'thing.make',
    actor: 'bob',
    role: 'user',
    authMethod: 'api_token',
    remoteAddr: '127.0.0.1',
    method: 'POST',
    path: '/v1/things',
    resourceKind: 'user',
    resourceId: 'bob',
    outcome: 'allow',
    status: 201,
    reason: null,
    requestId: 'r-1'
  })
  t.match(decisions[0], { path: '/v1/things', status: 400, reason: 'validation.unknown_parameter' })
})

t.test('the resource may be named by the result of the change', async t => {
  const run = (call: Call) =>
    call.change(
      (id: string) => ({ kind: 'thing', id }),
      async () => 'thing-7'
    )
  const { send, decisions } = await httpFixture(t, { routes: [post(run)] })

  await send('POST', '/v1/things', user)

  t.match(decisions, [{ resourceKind: 'thing', resourceId: 'thing-7' }])
})

t.test('a mutation without a change is recorded with its outcome', async t => {
  const { send, decisions } = await httpFixture(t, { routes: [post(async () => 1)] })

  await send('POST', '/v1/things', user)

  t.match(decisions, [{ outcome: 'allow', status: 201, reason: null, resourceKind: null }])
})

const refusals = [
  [new Fault(clientNotFound, 'x'), 'allow', 404, 'client_not_found'],
  [new Fault(notOwner, 'x'), 'deny', 403, 'not_owner'],
  [new Error('x'), 'allow', 500, 'internal']
] as const

t.test('a refused mutation is one decision with its status and reason', async t => {
  for (const [error, outcome, status, reason] of refusals) {
    const { send, decisions } = await httpFixture(t, {
      routes: [post(async () => Promise.reject(error))],
      dir: t.testdir()
    })
    await send('POST', '/v1/things', user)
    t.match(decisions, [{ outcome, status, reason }], reason)
    t.equal(decisions.length, 1)
  }
})

t.test('a read is recorded only when it is denied', async t => {
  const read = post(async () => Promise.reject(new Fault(clientNotFound, 'x')), {
    method: 'GET',
    access: 'superadmin',
    status: 200
  })
  const { send, decisions } = await httpFixture(t, { routes: [read] })

  await send('GET', '/v1/things', superadmin)
  await send('HEAD', '/v1/things', superadmin)
  t.same(decisions, [])

  await send('GET', '/v1/things', user)
  await send('GET', '/v1/things')
  t.match(decisions, [
    { actor: 'bob', outcome: 'deny', status: 403, reason: 'role_required', method: 'GET' },
    { actor: null, role: null, authMethod: 'none', outcome: 'deny', status: 401, reason: 'unauthenticated' }
  ])
})

t.test('a request without a route has no decision', async t => {
  const { send, decisions } = await httpFixture(t, { routes: [post(rename)] })

  await send('POST', '/v1/nothing')
  await send('PUT', '/v1/things')

  t.same(decisions, [])
})

t.test('the decision of a route that waits for a client is completed once, with the outcome', async t => {
  let beforeOutcome: unknown
  const recorded = { decisions: [] as readonly unknown[] }
  const wait = post(
    async call => {
      await rename(call)
      beforeOutcome = { ...(recorded.decisions[0] as object) }
      return 'done'
    },
    { outcome: 'deferred' }
  )
  const { send, decisions } = await httpFixture(t, { routes: [wait] })
  recorded.decisions = decisions

  await send('POST', '/v1/things', user)

  t.match(beforeOutcome, { status: null, reason: null, outcome: 'allow' })
  t.equal(decisions.length, 1)
  t.match(decisions[0], { status: 201, reason: null })
})

t.test('a timeout of the client completes the decision, too', async t => {
  const late = async (call: Call) => {
    await rename(call)
    throw new Fault(ackTimeout, 'no answer')
  }
  const { send, decisions } = await httpFixture(t, { routes: [post(late, { outcome: 'deferred' })] })

  t.match(await send('POST', '/v1/things', user), { status: 504 })

  t.equal(decisions.length, 1)
  t.match(decisions[0], { outcome: 'allow', status: 504, reason: 'ack_timeout' })
})

t.test('a route that fails after its change has one decision, with the status that was sent', async t => {
  const broken = async (call: Call) => {
    await rename(call)
    throw new Error('x')
  }
  const { send, decisions } = await httpFixture(t, { routes: [post(broken)] })

  await send('POST', '/v1/things', user)

  t.equal(decisions.length, 1)
  t.match(decisions[0], { status: 500, reason: 'internal', resourceId: 'bob' })
})

t.test('a failed change is recorded with its error and without a resource', async t => {
  const broken = (call: Call) =>
    call.change({ kind: 'user', id: 'bob' }, () => Promise.reject(new Fault(clientNotFound, 'x')))
  const { send, decisions } = await httpFixture(t, { routes: [post(broken)] })

  await send('POST', '/v1/things', user)

  t.equal(decisions.length, 1)
  t.match(decisions[0], { status: 404, reason: 'client_not_found', resourceId: null })
})

/** A recorder of one sink that always fails. */
function failingRecorder(slot: typeof decisionSlot, log: LogLine[] = [], counted: string[] = []) {
  const fails: DecisionSink = {
    write: () => Promise.reject(new Error('full')),
    complete: async () => {}
  }
  const plugin = definePlugin({
    name: 'x',
    version: '1.0.0',
    kernel: '^2.0.0',
    fills: [slot.fill(fails)]
  })
  const filled = slotReader('http', [plugin], () => ({}))
  const httpMetrics = { countUnrecorded: (by: string) => void counted.push(by) }
  return openRecorder({ filled, log: recordLog(log), httpMetrics })
}

t.test('a change that the audit log cannot record is not made', async t => {
  const recorder = failingRecorder(requiredDecisionSlot)
  const { send, store, log } = await httpFixture(t, { routes: [post(rename)], recorder })

  t.match(await send('POST', '/v1/things', user), { status: 500, body: { error: { code: 'internal' } } })

  t.match(await store.read(em => em.findOne(User, { id: 'bob' })), { displayName: 'bob' })
  t.match(log, [{ event: 'request.failed' }])
})

t.test('a plugin whose recorder throws cannot undo the changes of others', async t => {
  const log: LogLine[] = []
  const counted: string[] = []
  const recorder = failingRecorder(decisionSlot, log, counted)
  const { send, store } = await httpFixture(t, { routes: [post(rename)], recorder })

  const { status: first } = await send('POST', '/v1/things', user)
  const { status: second } = await send('POST', '/v1/things', user)

  t.same([first, second], [201, 201])
  t.match(await store.read(em => em.findOne(User, { id: 'bob' })), { displayName: 'robert' })
  t.match(log, [{ event: 'decision.not_recorded', fields: { plugin: 'x', error: /Error: full/ } }])
  t.equal(log.length, 1, 'a series is logged once')
  t.same(counted, ['x', 'x'])
})

t.test('a refusal of a busy server is not recorded, because nothing was decided', async t => {
  const busy = defineCode('busy', 503, 6)
  const route = post(() => Promise.reject(new Fault(busy, 'try again')))
  const { send, decisions } = await httpFixture(t, { routes: [route] })

  t.equal((await send('POST', '/v1/things', user)).status, 503)

  t.same(decisions, [])
})
