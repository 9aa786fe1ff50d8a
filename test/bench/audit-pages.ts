// Measures the latency of random filtered pages of a long audit log during writes.
//   node test/bench/audit-pages.ts [--entries 1000000] [--pages 200] [--writes 100]
import { parseArgs } from 'node:util'
import { newId } from '../../kernel/platform/id.ts'
import { quantile, type SeededServer, withSeededServer } from './seeded-server.ts'

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '1000000' },
    pages: { type: 'string', default: '200' },
    writes: { type: 'string', default: '100' }
  }
})
const entries = Number(values.entries)
const pages = Number(values.pages)
const writes = Number(values.writes)
const spanMs = 80 * 24 * 3_600_000
const beganMs = Date.now() - spanMs

const random = (below: number): number => Math.floor(Math.random() * below)

/** Returns the path of a page: a random filter, sometimes with a cursor from an earlier page. */
function randomPage(cursor: string | undefined): string {
  const since = beganMs + random(spanMs)
  const parts = {
    limit: String([20, 100, 100, 500][random(4)]),
    ...(random(2) === 0 && { outcome: random(4) === 0 ? 'deny' : 'allow' }),
    ...(random(2) === 0 && { since: new Date(since).toISOString() }),
    ...(random(2) === 0 && { until: new Date(since + random(spanMs / 4)).toISOString() }),
    cursor: random(2) === 0 ? (cursor ?? '') : ''
  }
  return `/v1/audit?${new URLSearchParams(parts)}`
}

async function bench({ request }: SeededServer): Promise<void> {
  let isDone = false
  let written = 0
  const writeAll = (async () => {
    const began = performance.now()
    while (!isDone) {
      const due = ((performance.now() - began) / 1000) * writes
      for (; written < due; written++) {
        const body = JSON.stringify({ name: `edge-${written}` })
        await (await request('/v1/client-enrollments', { method: 'POST', body })).text()
      }
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  })()

  const times: number[] = []
  let cursor: string | undefined
  const start = performance.now()
  for (let i = 0; i < pages; i++) {
    const path = randomPage(cursor)
    const began = performance.now()
    const reply = await request(path)
    const page = (await reply.json()) as { next_cursor?: string; error?: object }
    times.push(performance.now() - began)
    if (page.error) throw new Error(`${path}: ${JSON.stringify(page.error)}`)
    cursor = page.next_cursor ?? cursor
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const secs = (performance.now() - start) / 1000
  isDone = true
  await writeAll
  console.log(`${entries} entries; ${(written / secs).toFixed(0)} writes/s over ${secs.toFixed(1)} s`)
  const shown = [0.5, 0.95, 0.99].map(share => `p${share * 100} ${quantile(times, share).toFixed(1)} ms`)
  console.log(`${pages} pages: ${shown.join(', ')}, worst ${Math.max(...times).toFixed(1)} ms`)
}

await withSeededServer(db => {
  const row =
    db.prepare(`insert into audit_entry (id, timestamp, actor, role, auth_method, remote_addr, method, path,
    action, resource_kind, resource_id, outcome, status, reason, request_id, count)
    values (?, ?, 'ann', 'user', 'api_token', '192.0.2.7', 'POST', '/v1/rules', 'rule.create', 'rule', ?, ?, ?, ?, ?, 1)`)
  for (let i = 0; i < entries; i++) {
    const at = Math.floor(beganMs + (i / entries) * spanMs)
    const id = newId(at)
    const isDenied = i % 5 === 0
    row.run(id, at, id, isDenied ? 'deny' : 'allow', isDenied ? 403 : 201, isDenied ? 'not_owner' : null, id)
  }
}, bench)
