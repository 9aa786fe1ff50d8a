// The check `links` of `sluice doctor` and `sluice agent doctor`, and the links in `sluice agent status`.
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type KitServer, runAgent, testServer } from '../../../kit/public.ts'
import type { DoctorContext, Finding } from '../../cli/check-exports.ts'
import { until } from '../../rules/test/fixture.ts'
import { makeLinkCertificate } from '../agent/transport/make-link-certificate.ts'
import { linkCheck } from '../commands.ts'
import { echo, freePort, linkOf, openClient, openTarget, setLink } from './agent-world.ts'
import { linksFixture, status } from './fixture.ts'

type Agent = Awaited<ReturnType<typeof runAgent>>
type Given = Partial<Pick<DoctorContext, 'role' | 'dir' | 'isRunning' | 'query'>>

const runCheck = (given: Given): Promise<readonly Finding[]> =>
  linkCheck.run({ role: 'server', dir: '/nowhere', isRunning: true, ...given } as DoctorContext)

const checkAgent = ({ stateDir }: Agent): Promise<readonly Finding[]> =>
  runCheck({ role: 'agent', dir: stateDir })

/** A rule of `hub` that leads through `office`, which dials the endpoint of the hub. The hub may listen on `allowed`. */
async function open(t: Test) {
  const server = await testServer(t)
  const allowed = await freePort()
  const hub = await runAgent(t, server, 'hub', { guardrails: { allow_ports: [8080, allowed] } })
  const office = await runAgent(t, server, 'office')
  const setEndpoint = (port: number) =>
    server.call('PATCH', `/v1/clients/${hub.clientId}`, { link: { port, hosts: ['127.0.0.1'] } })
  const push = () =>
    server.call('POST', '/v1/rules', {
      ...{ client: 'hub', listen_port: 8080, via: 'office' },
      targets: [{ host: '127.0.0.1', port: 9 }]
    })
  return { server, hub, office, allowed, setEndpoint, push }
}

/** Resolves when the agent's link has the state. Attempts wait for the clock. */
const untilState = (server: KitServer, agent: Agent, state: string): Promise<unknown> =>
  until(
    async () => {
      await server.clock.advance(500)
      return agent.ask<{ state: string }[]>('links')
    },
    ([link]) => link?.state === state
  )

t.test(
  'a listener that cannot be reached is found at both ends, until its endpoint is corrected',
  async t => {
    const { server, hub, office, allowed, setEndpoint, push } = await open(t)
    await setEndpoint(await freePort())
    await push()
    for (const agent of [office, hub]) await untilState(server, agent, 'down')

    t.match(await checkAgent(office), [
      { id: 'link.unreachable', message: /^hub \((refused|unreachable)\)$/ }
    ])
    t.same(await checkAgent(hub), [{ id: 'link.port', message: 'office (denied_by_agent)' }])
    t.match(await office.status(), {
      links: [{ peer: 'hub', side: 'far', state: 'down', reason: /^(refused|unreachable)$/ }]
    })

    await setEndpoint(allowed)
    for (const agent of [office, hub]) await untilState(server, agent, 'up')
    for (const agent of [office, hub]) t.same(await checkAgent(agent), [{ ok: '1 link works' }])
    t.match(await hub.status(), { links: [{ peer: 'office', side: 'near', state: 'up', reason: null }] })
  }
)

t.test('a stranger on the port of the listener is found: by its key, and by the taken port', async t => {
  const { server, hub, office, allowed, setEndpoint, push } = await open(t)
  const { cert, key } = makeLinkCertificate(Date.now())
  const stranger = createTlsServer({ cert, key, ALPNProtocols: ['svc-link/1'], minVersion: 'TLSv1.3' })
  stranger.on('connection', socket => socket.on('error', () => {}))
  stranger.listen(allowed, '127.0.0.1')
  await once(stranger, 'listening')
  t.teardown(() => void stranger.close())
  await setEndpoint(allowed)
  await push()
  for (const agent of [office, hub]) await untilState(server, agent, 'down')

  t.same(await checkAgent(office), [{ id: 'link.pin', message: 'hub (pin_mismatch)' }])
  t.same(await checkAgent(hub), [{ id: 'link.port', message: 'office (port_in_use)' }])
})

t.test('a link that is down tries at once when it is asked to', async t => {
  const clock = fakeClock()
  const near = await openClient(t, clock)
  const far = await openClient(t, clock)
  far.ports = false // does not listen
  const id = setLink(near, far, { direction: 'direct' })
  await openTarget(t, echo)
  await clock.advance(4_000)
  await near.until(() => linkOf(near, id).handshakes.get('failed') !== undefined)
  await clock.advance(10_000)
  await near.until(() => linkOf(near, id).state === 'down')

  far.ports = true
  far.links.guardrailsChanged()
  await near.until(() => far.links.all[0]?.listenPort === far.port)
  await until(
    async () => {
      await linkOf(near, id).retry() // the port may not be open yet
      return linkOf(near, id).state
    },
    state => state === 'up'
  )
})

t.test(
  'the doctor of the server reports links that are down, but not those of clients that are away',
  async t => {
    const { app, deps, edge, rule, setEndpoint, list, round, report } = await linksFixture(t)
    const [hub, office, lab] = [await edge('hub'), await edge('office'), await edge('lab')]
    await setEndpoint(hub.id, { hosts: ['192.0.2.1'] })
    for (const { id } of [office, lab]) await rule(hub.id, [id])
    await round()
    const query: DoctorContext['query'] = (_, sql) => deps().store.read(em => em.execute(sql) as never)
    t.same(await runCheck({ query }), [{ ok: 'no link is down' }])
    const links = await list()
    const idOf = (far: string): string =>
      links.find(({ clients }) => clients[1]?.client_name === far)?.link_id ?? ''

    await report(hub.agent, status(idOf('office'), { state: 'down', reason: 'pin_mismatch' }))
    for (const { agent } of [hub, lab])
      await report(agent, status(idOf('lab'), { state: 'down', reason: 'timeout' }))
    t.same(await runCheck({ query }), [
      { id: 'link.pin', message: 'hub/office (pin_mismatch)' },
      { id: 'link.unreachable', message: 'hub/lab (timeout)' }
    ])
    t.ok((await runCheck({ query, isRunning: false })).every(finding => 'ok' in finding))

    await lab.agent.close()
    await until(
      async () => app.server.control.peers.find(lab.id),
      peer => peer === undefined
    )
    await round()
    t.same(await runCheck({ query }), [{ id: 'link.pin', message: 'hub/office (pin_mismatch)' }])
  }
)

t.test('without a running agent, its links are not tried', async t => {
  t.same(await runCheck({ role: 'agent', isRunning: false }), [
    { ok: 'no agent runs, so its links are not tried' }
  ])
})
