import t, { type Test } from 'tap'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { ownVersion } from '../../kernel/platform/version.ts'
import { metricsPlugin } from '../../plugins/metrics/agent.ts'
import rules from '../../plugins/rules/agent.ts'
import { messages } from '../../plugins/rules/wire.ts'
import { readExposition } from '../support/exposition.ts'
import { scriptedServer } from './scripted-server.ts'
import { pushRule, removeRule, startTestAgent } from './test-agent.ts'

async function agentWithMetrics(t: Test, ...more: readonly AgentPlugin[]) {
  const server = await scriptedServer(t, { messages })
  const agent = startTestAgent(t, {
    dir: t.testdir(),
    server,
    plugins: [rules, ...more, metricsPlugin('127.0.0.1:0', 'fake')]
  })
  const connection = await server.next()
  const { fields } = await agent.log.until('metrics.listening')
  const scrape = async () => {
    const reply = await fetch(`http://127.0.0.1:${fields['port']}/metrics`)
    const families = readExposition(await reply.text())
    return (name: string, labels = '') => families.get(`svc_agent_${name}`)?.series.get(labels)
  }
  return { ...agent, connection, scrape }
}

const portCounters = (bytesIn: number, bytesOut: number, active: number) => ({
  port: 8080,
  bytesIn,
  bytesOut,
  datagramsIn: 0,
  datagramsOut: 0,
  active
})

t.test("/metrics has the engine's counters of each rule while the rule exists", async t => {
  const { engine, connection, scrape } = await agentWithMetrics(t)
  await pushRule(connection, 'rule-1', 1, 8080)
  engine.setCounters(1, { ports: [portCounters(10, 20, 3)], connectionsTotal: 5, rejected: { loop: 2 } })

  const value = await scrape()

  t.equal(value('rules'), 1)
  t.equal(value('build_info', `version="${ownVersion()}",node="${process.version}",engine="fake"`), 1)
  t.equal(value('engine_events_dropped_total'), 0)
  t.equal(value('rule_bytes_total', 'rule="rule-1",direction="in"'), 10)
  t.equal(value('rule_bytes_total', 'rule="rule-1",direction="out"'), 20)
  t.equal(value('rule_active', 'rule="rule-1"'), 3)
  t.equal(value('rule_connections_total', 'rule="rule-1"'), 5)
  t.equal(value('rule_rejected_total', 'rule="rule-1",reason="loop"'), 2)

  await removeRule(connection, 'rule-1', 2, 'cut')
  const after = await scrape()
  t.equal(after('rules'), 0)
  t.equal(after('rule_connections_total', 'rule="rule-1"'), undefined)
})

t.test('a removed rule that still drains is not counted as open', async t => {
  const { engine, connection, scrape } = await agentWithMetrics(t)
  await pushRule(connection, 'rule-1', 1, 8080)
  engine.holdDrains()

  await removeRule(connection, 'rule-1', 2, 'drain')
  const value = await scrape()

  t.equal(value('rules'), 0)
  t.equal(value('rule_connections_total', 'rule="rule-1"'), 0, 'its counters are exported until it has ended')
})

t.test('counters of a changed rule continue', async t => {
  const { engine, connection, scrape, log } = await agentWithMetrics(t)
  await pushRule(connection, 'rule-1', 1, 8080)
  engine.setCounters(1, { ports: [portCounters(10, 20, 0)], connectionsTotal: 5 })
  engine.holdDrains()

  await pushRule(connection, 'rule-1', 2, 8081)
  await log.until('rule.changed')
  engine.setCounters(2, { connectionsTotal: 1 })
  t.equal((await scrape())('rule_connections_total', 'rule="rule-1"'), 6, 'while the old one drains')
  engine.finishDrain(1)

  t.equal((await scrape())('rule_connections_total', 'rule="rule-1"'), 6)
})

t.test('counters of all runs of a rule that changes repeatedly add up', async t => {
  const { engine, connection, scrape, log } = await agentWithMetrics(t)
  for (let run = 1; run <= 4; run++) {
    await pushRule(connection, 'rule-1', run, 8080 + run)
    await (run === 1 ? log.until('rule.opened') : log.until('rule.changed', run - 1))
    engine.setCounters(run, {
      ports: [portCounters(10, 20, 0)],
      connectionsTotal: run,
      rejected: { loop: 1, [`run_${run}`]: 1 }
    })
  }

  const value = await scrape()
  t.equal(value('rule_connections_total', 'rule="rule-1"'), 10)
  t.equal(value('rule_bytes_total', 'rule="rule-1",direction="out"'), 80)
  t.equal(value('rule_rejected_total', 'rule="rule-1",reason="loop"'), 4)
  t.equal(value('rule_rejected_total', 'rule="rule-1",reason="run_2"'), 1)
})

t.test('diverted callers have series of their divert, over all runs of the rule', async t => {
  const { engine, connection, scrape } = await agentWithMetrics(t)
  const tarpit = { name: 'tarpit', bytesIn: 1, bytesOut: 2, connectionsTotal: 3, active: 4 }
  await pushRule(connection, 'rule-1', 1, 8080)
  engine.setCounters(1, { diverts: [tarpit] })
  engine.holdDrains()
  await pushRule(connection, 'rule-1', 2, 8081)
  engine.setCounters(2, { diverts: [{ ...tarpit, name: 'canary' }, tarpit] })

  const check = async (active: number) => {
    const value = await scrape()
    const labels = 'rule="rule-1",divert="tarpit"'
    t.equal(value('rule_diverted_active', labels), active)
    t.equal(value('rule_diverted_connections_total', labels), 6)
    t.equal(value('rule_diverted_bytes_total', `${labels},direction="in"`), 2)
    t.equal(value('rule_diverted_bytes_total', `${labels},direction="out"`), 4)
    t.equal(value('rule_diverted_connections_total', 'rule="rule-1",divert="canary"'), 3)
  }
  await check(8)
  engine.setCounters(1, { diverts: [{ ...tarpit, active: 0 }] })
  engine.finishDrain(1)
  await check(4)
  await pushRule(connection, 'rule-1', 3, 8080)
  engine.setCounters(2, {
    diverts: [
      { ...tarpit, name: 'canary' },
      { ...tarpit, active: 0 }
    ]
  })
  engine.finishDrain(2)
  await check(0)
})

t.test('connected is 1 while the control stream is up', async t => {
  const { connection, scrape, log } = await agentWithMetrics(t)

  await log.until('control.connected')
  t.equal((await scrape())('connected'), 1)
  connection.cut()
  await log.until('control.disconnected')
  t.equal((await scrape())('connected'), 0)
})

t.test('peek durations are a histogram in seconds', async t => {
  const { engine, scrape } = await agentWithMetrics(t)
  engine.setPeekDurations([1, ...Array(14).fill(0), 1], 3100)

  const value = await scrape()
  const name = 'tls_client_hello_peek_duration_seconds'

  t.equal(value(name, '_bucket{le="0.0001"}'), 1)
  t.equal(value(name, '_bucket{le="3"}'), 1)
  t.equal(value(name, '_bucket{le="+Inf"}'), 2)
  t.equal(value(name, '_sum'), 3.1)
})

t.test(
  'the metrics of a plugin have its prefix, and are omitted without a bound on their series',
  async t => {
    const samples = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ labelValues: [`${at}`], value: at }))
    const door = (name: string, count: number): AgentPlugin => ({
      name,
      agent: '^1.0.0',
      metrics: () => [
        { name: 'rules', type: 'gauge', help: 'By room.', labels: ['room'], samples: samples(count) }
      ]
    })
    const broken: AgentPlugin = {
      name: 'broken',
      agent: '^1.0.0',
      async metrics() {
        throw new TypeError('a bug')
      }
    }
    const { scrape, log } = await agentWithMetrics(t, door('back-door', 1000), door('barn', 1001), broken)

    const value = await scrape()

    t.equal(value('back_door_rules', 'room="999"'), 999)
    t.equal(value('barn_rules', 'room="0"'), undefined)
    t.equal(value('rules'), 0, 'the other metrics are exported')
    t.same(
      log.lines
        .filter(({ event }) => event === 'metrics.collect_failed')
        .map(({ fields }) => fields['plugin']),
      ['barn', 'broken']
    )
  }
)
