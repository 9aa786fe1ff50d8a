// Measures the cost of /metrics on a server with many rules, and the latency of concurrent API requests.
//   node test/bench/scrape.ts [--rules 10000] [--scrapes 20]
import { parseArgs } from 'node:util'
import { newId } from '../../kernel/platform/id.ts'
import { quantile, type SeededServer, withSeededServer } from './seeded-server.ts'

const { values } = parseArgs({
  options: { rules: { type: 'string', default: '10000' }, scrapes: { type: 'string', default: '20' } }
})
const rules = Number(values.rules)
const scrapes = Number(values.scrapes)
const clients = 100

async function bench({ metricsPort, request }: SeededServer): Promise<void> {
  const waits: number[] = []
  let isDone = false
  const caller = (async () => {
    while (!isDone) {
      const began = performance.now()
      await (await request('/v1/users/me')).text()
      waits.push(performance.now() - began)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  })()
  const cpuSecs = (text: string): number => Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])
  const times: number[] = []
  const firstSecs = cpuSecs(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text())
  let page = new ArrayBuffer(0)
  for (let i = 0; i < scrapes; i++) {
    const began = performance.now()
    page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).arrayBuffer()
    times.push(performance.now() - began)
  }
  isDone = true
  await caller
  const text = Buffer.from(page).toString()
  const lines = text.split('\n').filter(line => !line.startsWith('#')).length
  console.log(`${rules} rules, ${lines} series, ${(text.length / 2 ** 20).toFixed(1)} MiB per scrape`)
  console.log(
    `scrape: p50 ${quantile(times, 0.5).toFixed(0)} ms, worst ${Math.max(...times).toFixed(0)} ms, ` +
      `${(((cpuSecs(text) - firstSecs) / scrapes) * 1000).toFixed(0)} ms of CPU each`
  )
  console.log(
    `concurrent API requests: p50 ${quantile(waits, 0.5).toFixed(1)} ms, p99 ${quantile(waits, 0.99).toFixed(1)} ms, ` +
      `worst ${Math.max(...waits).toFixed(1)} ms, of ${waits.length}`
  )
}

await withSeededServer(db => {
  const client = db.prepare(`insert into kernel_client (id, name, revision, enrolled_at) values (?, ?, 0, 0)`)
  const rule = db.prepare(`insert into rules (id, client_id, owner, placed_by, protocol, listen_from,
    listen_to, targets, prefer_ipv6, fields, state, created_at, updated_at, state_changed_at)
    values (?, ?, 'ann', '_operator', 'tcp', ?, ?, '[]', 0, '[]', 'active', 0, 0, 0)`)
  const total =
    db.prepare(`insert into stats_total (rule_id, kind, key, client_id, owner, bytes_in, bytes_out,
    connections, dns_failures, failovers, rejected, updated_at) values (?, ?, ?, ?, 'ann', 123456789, 987654321, 42, 1, 2, 3, 0)`)
  for (let i = 0; i < clients; i++) {
    const clientId = newId()
    client.run(clientId, `edge-${i}`)
    for (let j = 0; j < rules / clients; j++) {
      const id = newId()
      rule.run(id, clientId, 10_000 + j, 10_000 + j)
      total.run(id, 'rule', '', clientId)
      total.run(id, 'rejected', 'target_denied', clientId)
      total.run(id, 'port', String(10_000 + j), clientId)
    }
  }
}, bench)
