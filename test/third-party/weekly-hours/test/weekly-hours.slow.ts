// Loads the plugin by path beside another one. Real servers and agents, real callers.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { type AgentPlugin, messagesOf } from '../../../../agent/plugin.ts'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import { openCodec } from '../../../../kernel/wire/codec.ts'
import type { Message } from '../../../../kernel/wire/message.ts'
import { fakeClock } from '../../../../kit/fake-clock.ts'
import { conform } from '../../../../kit/public.ts'
import rules from '../../../../plugins/rules/agent.ts'
import { until } from '../../../../plugins/rules/test/fixture.ts'
import { messages, RulePush } from '../../../../plugins/rules/wire.ts'
import { scriptedServer } from '../../../agent/scripted-server.ts'
import { startTestAgent } from '../../../agent/test-agent.ts'
import { freePort } from '../../../support/ports.ts'
import { startAgent, statsOf, testCluster } from '../../../support/test-cluster.ts'
import type { Schedule } from '../field.ts'

const folder = join(import.meta.dirname, '..')
const beside = join(folder, '..', 'expiry')

offerPublicModules()
const { default: half, isOpenAt } = (await import('../agent.ts')) as {
  default: AgentPlugin
  isOpenAt(schedule: Schedule, ms: number): boolean
} // needs the modules of the line above

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(folder)).problems, [])
})

const daily = (from: string, to: string, time_zone = 'UTC'): Schedule => ({
  time_zone,
  windows: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], from, to }]
})
const weekdays = (time_zone: string): Schedule => ({
  time_zone,
  windows: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '08:00', to: '18:00' }]
})

t.test('hours follow the local time of the time zone, in summer and in winter', async t => {
  const table: readonly [Schedule, string, boolean][] = [
    [weekdays('UTC'), '2026-01-15T08:00:00Z', true],
    [weekdays('UTC'), '2026-01-15T07:59:59Z', false],
    [weekdays('UTC'), '2026-01-15T17:59:59Z', true],
    [weekdays('UTC'), '2026-01-15T18:00:00Z', false],
    [weekdays('UTC'), '2026-01-17T12:00:00Z', false],
    [weekdays('Europe/Paris'), '2026-01-15T07:30:00Z', true],
    [weekdays('Europe/Paris'), '2026-07-15T06:30:00Z', true],
    [weekdays('Europe/Paris'), '2026-01-15T06:30:00Z', false],
    [weekdays('Asia/Tokyo'), '2026-01-18T23:30:00Z', true],
    [daily('00:00', '24:00'), '2026-01-15T00:00:00Z', true],
    [daily('22:00', '24:00'), '2026-01-15T23:59:59Z', true],
    [daily('22:00', '24:00'), '2026-01-15T00:00:00Z', false]
  ]
  for (const [schedule, instant, isOpen] of table)
    t.equal(isOpenAt(schedule, Date.parse(instant)), isOpen, `${schedule.time_zone} ${instant}`)
})

t.test('an agent opens and closes the rule on the minute', async t => {
  const clock = fakeClock(Date.parse('2026-01-15T07:58:30Z'))
  const server = await scriptedServer(t, { messages: [...messages, ...(half.messages ?? [])] })
  server.welcome = {
    get server_time_ms() {
      return clock.now()
    }
  }
  const configs = { 'weekly-hours': { live: 'hold' } }
  const plugins = [rules, half]
  const { engine } = startTestAgent(t, { dir: t.testdir(), server, clock, plugins, configs })
  const { channel } = await server.next()
  const [Hours] = messagesOf(half) as readonly [Message]
  await channel.request(RulePush, {
    rule_id: 'rule-1',
    revision: 1,
    owner: 'ann',
    protocol: 'tcp',
    listen_from: 8080,
    listen_to: 8080,
    targets: [{ host: '10.0.0.1', port: 80, priority: 0 }],
    prefer_ipv6: false,
    fields: { weekly_hours: openCodec([Hours]).encode(Hours, weekdays('UTC')) },
    retry: false
  })
  const isOpen = () => {
    const [meter = 0] = engine.opened[0]?.meters ?? []
    return engine.meters.get(meter)?.connections === null && !engine.budgets.has(meter)
  }

  t.notOk(isOpen())
  await clock.advance(89_000)
  t.notOk(isOpen())
  await clock.advance(1000)
  t.ok(isOpen(), 'at 08:00')
  await clock.advance(10 * 3_600_000 - 1000)
  t.ok(isOpen())
  await clock.advance(1000)
  t.notOk(isOpen(), 'at 18:00')
})

t.test(
  'outside its hours a real rule refuses callers, holds live connections as configured, and counts both',
  async t => {
    const cluster = await testCluster(t, {}, `[plugins."${folder}"]\n[plugins."${beside}"]\n`)
    const agentFile = join(cluster.dir, 'agent.toml')
    const settings = `[plugins."${folder}"]\nlive = "hold"\n[plugins."${beside}"]\n`
    writeFileSync(agentFile, `metrics_listen = "127.0.0.1:0"\n${settings}`)
    const { agent } = await startAgent(t, cluster, 'edge', { args: ['--config', agentFile] })
    const { port: metricsPort } = await agent.until('metrics.listening')
    const echo = createServer(socket => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
    t.teardown(() => echo.close())
    await once(echo, 'listening')
    const { port: target } = echo.address() as { port: number }
    const body = {
      client: 'edge',
      listen_port: await freePort(),
      targets: [{ host: '127.0.0.1', port: target }]
    }
    const inThreeDays = new Date(Date.now() + 3 * 86_400_000).getUTCDay()
    const never: Schedule = {
      time_zone: 'UTC',
      windows: [
        {
          days: [(['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const)[inThreeDays] ?? 'sun'],
          from: '00:00',
          to: '24:00'
        }
      ]
    }
    const always = daily('00:00', '24:00')
    const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', {
      ...body,
      weekly_hours: always
    })
    const put = (schedule: Schedule) => cluster.call('PUT', `/v1/rules/${id}`, { weekly_hours: schedule })
    const open = async () => {
      const socket = connect(body.listen_port, '127.0.0.1')
      t.teardown(() => socket.destroy())
      const ended = new Promise(resolve => socket.on('error', resolve))
      await Promise.race([once(socket, 'connect'), ended])
      return { socket, ended }
    }
    const { socket } = await open()
    socket.write('one')
    t.equal(String((await once(socket, 'data'))[0]), 'one')

    await put(never)
    socket.write('two')
    await (await open()).ended
    t.match(await statsOf(cluster, id, ({ rejected }) => (rejected['outside_schedule'] ?? 0) > 0), {
      active_connections: 1
    })
    t.equal(socket.bytesRead, 3, 'the live connection is held')
    await until(
      () => cluster.call<{ state_reason: string | null }>('GET', `/v1/rules/${id}`),
      ({ state_reason }) => state_reason === 'outside_schedule'
    )
    const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    t.match(page, /^svc_agent_weekly_hours_closed_rules 1$/m)

    const echoed = once(socket, 'data')
    await put(always)
    t.equal(String((await echoed)[0]), 'two')

    const refused = put({ ...always, time_zone: 'Mars/Base' })
    await t.rejects(refused, { message: /validation\.weekly_hours.*time_zone Mars\/Base is unknown/ })
    await t.rejects(put(daily('18:00', '08:00')), { message: /windows\/0 ends before it starts/ })
  }
)
