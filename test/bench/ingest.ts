// Measures the server's CPU time to commit the reports of many agents. Each agent reports every five seconds.
//   node test/bench/ingest.ts [--agents 1000] [--rules 5] [--rounds 12]
import { parseArgs } from 'node:util'
import type { Database } from 'better-sqlite3'
import { noCounts } from '../../agent/wire/counters.ts'
import { encodeRow, messages, type ReportRow, StatsReport } from '../../agent/wire/journal-report.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { connectAgent, type ScriptedAgent } from '../../kit/scripted-agent.ts'
import { quantile, type SeededServer, withSeededServer } from './seeded-server.ts'

const { values } = parseArgs({
  options: {
    agents: { type: 'string', default: '1000' },
    rules: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '12' }
  }
})
const agents = Number(values.agents)
const rules = Number(values.rules)
const rounds = Number(values.rounds)
const everyMs = 5000
const parallelHandshakes = 8
const owners = 100

interface Edge {
  readonly token: string
  readonly epoch: string
  readonly ruleIds: readonly string[]
}

const fleet: readonly Edge[] = Array.from({ length: agents }, (_, i) => ({
  token: newSecret(),
  epoch: i.toString(16).padStart(32, '0'),
  ruleIds: Array.from({ length: rules }, () => newId())
}))

function seed(db: Database): void {
  const client = db.prepare(
    'insert into kernel_client (id, name, token_hash, revision, enrolled_at) values (?, ?, ?, 0, 0)'
  )
  const rule =
    db.prepare(`insert into rules (id, client_id, owner, placed_by, protocol, listen_from, listen_to,
    targets, prefer_ipv6, fields, state, created_at, updated_at, state_changed_at)
    values (?, ?, ?, '_operator', 'tcp', ?, ?, '[{"host":"10.0.0.1","port":80,"priority":0}]', 0, '[]', 'active', 0, 0, 0)`)
  for (const [i, { token, ruleIds }] of fleet.entries()) {
    const clientId = newId()
    client.run(clientId, `edge-${i}`, hashOf(token))
    for (const [j, id] of ruleIds.entries())
      rule.run(id, clientId, `user-${(i + j) % owners}`, 10_000 + j, 10_000 + j)
  }
}

/** Returns the rows of a report with new bytes for every rule. */
function rowsOf({ ruleIds }: Edge, round: number): ReportRow[] {
  const bytes = (round + 1) * 1_000_003
  const connections = round + 1
  const minute = String(Math.floor(Date.now() / 60_000) * 60)
  return ruleIds.flatMap((ruleId, i) => {
    const moved = { ...noCounts, ruleId, bytesIn: bytes, bytesOut: bytes * 2 }
    return [
      { ...moved, kind: 'minute', key: minute },
      { ...noCounts, ruleId, kind: 'rule', key: '', connections },
      { ...moved, kind: 'port', key: String(10_000 + i) },
      { ...moved, kind: 'target', key: '10.0.0.1:80', connections }
    ].map(encodeRow)
  })
}

async function bench({ metricsPort, controlPort, fingerprint, request }: SeededServer): Promise<void> {
  const releases: (() => unknown)[] = []
  const t = { teardown: (release: () => unknown) => void releases.push(release) }
  const connected: ScriptedAgent[] = []
  const connect = ({ token }: Edge) =>
    connectAgent(t, { port: controlPort, fingerprint, token, messages, digest: '' })
  for (let at = 0; at < agents; at += parallelHandshakes)
    connected.push(...(await Promise.all(fleet.slice(at, at + parallelHandshakes).map(connect))))
  const cpuSecs = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])
  }
  const waits: number[] = []
  async function report(i: number, round: number): Promise<void> {
    const agent = connected[i]
    const edge = fleet[i]
    if (!agent || !edge) throw new RangeError(`there is no agent ${i}`)
    const began = performance.now()
    const body = { epoch: edge.epoch, seq: round + 1, part: 0, last: true, live: [] }
    await agent.channel.request(StatsReport, { ...body, rows: rowsOf(edge, round) }, { deadlineMs: 60_000 })
    waits.push(performance.now() - began)
  }
  const firstSecs = await cpuSecs()
  const began = performance.now()
  for (let round = 0; round < rounds; round++) {
    const all: Promise<void>[] = []
    for (let i = 0; i < agents; i++) {
      const dueMs = began + round * everyMs + (i / agents) * everyMs - performance.now()
      if (dueMs > 0) await new Promise(resolve => setTimeout(resolve, dueMs))
      all.push(report(i, round))
    }
    await Promise.all(all)
  }
  const tookSecs = (performance.now() - began) / 1000
  const nowSecs = Math.floor(Date.now() / 1000)
  await request(`/v1/traffic/global?from=${nowSecs - 60}&to=${nowSecs}`) // folds counts that are only saved
  const usedSecs = (await cpuSecs()) - firstSecs
  const cores = usedSecs / tookSecs
  console.log(
    `${agents} agents, ${rules * 4} rows a report, ${rounds} rounds in ${tookSecs.toFixed(0)} s: ` +
      `${cores.toFixed(2)} of a core, ${((usedSecs * 1000) / (agents * rounds)).toFixed(4)} ms a report; acknowledged after p50 ${quantile(waits, 0.5).toFixed(0)} ms, ` +
      `p99 ${quantile(waits, 0.99).toFixed(0)} ms`
  )
  for (const release of releases) await release()
}

await withSeededServer(seed, bench)
