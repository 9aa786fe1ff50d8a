// Explanations of rules with paths, from whole agents with links over real sockets.
import t, { type Test } from 'tap'
import type { KitServer } from '../../../kit/public.ts'
import { runAgent, testServer } from '../../../kit/public.ts'
import type { Explanation } from '../../explain/schema.ts'
import { until } from '../../rules/test/fixture.ts'
import { freePort, openTarget } from './agent-world.ts'

type Agent = Awaited<ReturnType<typeof runAgent>>

async function setEndpoint(server: KitServer, { clientId }: Agent): Promise<void> {
  const link = { port: await freePort(), hosts: ['127.0.0.1'] }
  await server.call('PATCH', `/v1/clients/${clientId}`, { link })
}

/** Resolves when all links of the agent are up. Dials wait for the clock. */
const linked = (server: KitServer, agent: Agent): Promise<unknown> =>
  until(
    async () => {
      await server.clock.advance(0)
      return agent.ask<{ state: string }[]>('links')
    },
    links => links.length > 0 && links.every(({ state }) => state === 'up')
  )

/** A rule on `edge` with a path through `relay` and `exit`. */
async function open(t: Test, exitGuardrails: Parameters<typeof runAgent>[3] = {}) {
  const server = await testServer(t)
  const edge = await runAgent(t, server, 'edge')
  const relay = await runAgent(t, server, 'relay')
  const exit = await runAgent(t, server, 'exit', exitGuardrails)
  for (const agent of [edge, relay]) await setEndpoint(server, agent)
  const accepted: number[] = []
  const port = await openTarget(t, ({ remotePort = 0 }) => void accepted.push(remotePort))
  const targets = [{ host: '127.0.0.1', port }]
  const push = (more: object = {}) =>
    server.call<{ rule_id: string }>('POST', '/v1/rules', {
      ...{ client: 'edge', listen_port: 8080, targets, via: ['relay', 'exit'] },
      ...more
    })
  const explain = async (more: object = {}) => {
    const body = { client: 'edge', port: 8080, protocol: 'tcp', ...more }
    return (await server.call<Explanation>('POST', '/v1/explain', body)).body
  }
  return { server, edge, relay, exit, port, accepted, push, explain }
}

t.test(
  'a probe goes through the links, and tells what the exit measured and what the links took',
  async t => {
    const { server, edge, relay, exit, port, accepted, push, explain } = await open(t)
    t.equal((await push()).status, 201)
    for (const agent of [edge, relay, exit]) await linked(server, agent)

    const { outcome, steps, targets } = await explain({ probe: true })

    t.equal(outcome, 'forwarded')
    t.match(
      steps.filter(({ kind }) => kind === 'link').map(({ text }) => text),
      [/^the link from edge to relay is up/, /^the link from relay to exit is up/]
    )
    t.match(targets, [
      {
        ...{ host: '127.0.0.1', port, address: '127.0.0.1', via: [relay.clientId, exit.clientId] },
        ...{ dns_ms: Number, connect_ms: Number, link_ms: Number }
      }
    ])
    t.equal(accepted.length, 1)
  }
)

t.test('a relay that has lost its way to the exit is named before any probe', async t => {
  const { server, edge, relay, exit, accepted, push, explain } = await open(t)
  await push()
  for (const agent of [edge, relay, exit]) await linked(server, agent)
  await exit.stop()
  await until(
    () => relay.ask<{ side: string; state: string }[]>('links'),
    links => links.some(({ side, state }) => side === 'near' && state === 'down')
  )

  const { outcome, decided_by, steps } = await explain({ probe: true })

  t.match([outcome, decided_by], ['refused', { kind: 'link', reason: 'link_down' }])
  t.match(steps.at(-1)?.text, /^the link from relay to exit is down/)
  t.same(accepted, [])
})
