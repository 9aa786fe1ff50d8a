import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Resolved } from '../../agent/engine/engine.ts'
import type { Preamble } from '../../agent/engine/preamble.ts'
import { openGuardrails } from '../../agent/rules/guardrails.ts'
import type { Plan } from '../../agent/rules/planner.ts'
import { openTargetProbes } from '../../agent/rules/probe-target.ts'
import { freePort } from '../support/ports.ts'

const allowing = { allow_ports: [], allow_targets: [], deny_targets: [], deny_local_ports: [] }

const planTo = (host: string, port: number, changed: Partial<Plan> = {}) =>
  ({ targets: [{ host, port }], target: [], dialFrom: null, preamble: null, ...changed }) as unknown as Plan

function testProbe(plan: Plan, answer?: Resolved, isLoop = false) {
  const resolve = async (host: string): Promise<Resolved> => answer ?? { ok: true, addresses: [host] }
  const dial = async () => ({ failure: null, isRefusal: false })
  return openTargetProbes()(plan, 0, { resolve, isLoop: () => isLoop, dial })
}

/** A target that keeps what its callers have sent until they ended. */
async function openTarget(t: Test) {
  const received: string[] = []
  const ended = Promise.withResolvers<void>()
  const server = createServer((socket: Socket) => {
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    socket.on('end', () => {
      received.push(text)
      ended.resolve()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  return { port, received, ended: ended.promise }
}

t.test('a probe connects and closes without sending a byte', async t => {
  const { port, received, ended } = await openTarget(t)

  t.same(await testProbe(planTo('127.0.0.1', port)), { failure: null })

  await ended
  t.same(received, [''])
})

t.test('a probe sends the header of a target that expects one', async t => {
  const { port, received, ended } = await openTarget(t)
  const preamble: Preamble = {
    datagrams: 'first',
    ipv4: [],
    ipv6: [],
    probe: Buffer.from('PROXY UNKNOWN\r\n')
  }

  t.same(await testProbe(planTo('127.0.0.1', port, { preamble })), { failure: null })

  await ended
  t.same(received, ['PROXY UNKNOWN\r\n'])
})

t.test('a probe names why a target is not reached', async t => {
  t.same(await testProbe(planTo('127.0.0.1', await freePort())), { failure: 'refused' })
  t.same(await testProbe(planTo('gone.test', 80), { ok: false, reason: 'nxdomain' }), {
    failure: 'dns_nxdomain'
  })
  t.same(await testProbe(planTo('empty.test', 80), { ok: true, addresses: [] }), {
    failure: 'dns_no_address'
  })
})

t.test('a probe never dials an address that the guardrails forbid', async t => {
  const { port, received } = await openTarget(t)
  const { filter } = openGuardrails({ ...allowing, deny_targets: ['127.0.0.0/8'] }, [])
  const answer = { ok: true, addresses: ['127.0.0.1', '::ffff:127.0.0.1'] } as const

  const outcome = await testProbe(planTo('inside.test', port, { target: [filter] }), answer)

  t.same(outcome, { failure: 'denied_by_agent' })
  t.same(received, [])
})

t.test('a probe does not dial a listener of the agent', async t => {
  const { port, received } = await openTarget(t)

  t.same(await testProbe(planTo('127.0.0.1', port), undefined, true), { failure: 'loop' })
  t.same(received, [])
})

t.test('a probe tries the other addresses of a name', async t => {
  const { port } = await openTarget(t)

  const outcome = await testProbe(planTo('two.test', port), { ok: true, addresses: ['::1', '127.0.0.1'] })

  t.same(outcome, { failure: null })
})
