// Measures query times and database size of a full traffic history.
//   node test/bench/traffic.ts [--pairs 10000] [--days 90] [--queries 50]
import { statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Database } from 'better-sqlite3'
import { newId } from '../../kernel/platform/id.ts'
import { quantile, type SeededServer, withSeededServer } from './seeded-server.ts'

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '10000' },
    days: { type: 'string', default: '90' },
    queries: { type: 'string', default: '50' }
  }
})
const pairs = Number(values.pairs)
const days = Number(values.days)
const queries = Number(values.queries)
const users = Array.from({ length: Math.ceil(Math.sqrt(pairs)) }, (_, i) => `user-${i}`)
const clients = users.map(() => newId())
const hourSecs = 3600
const lastHour = Math.floor(Date.now() / 1000 / hourSecs) * hourSecs
const firstHour = lastHour - (days * 24 - 1) * hourSecs
const firstMinute = lastHour - 7 * 24 * hourSecs + hourSecs
const daySecs = 24 * hourSecs

let file = ''

/** Inserts hours for all pairs, users, clients and the total, and minutes of the last week for all except pairs. */
function seed(db: Database): void {
  file = db.name
  const user = db.prepare(
    `insert into kernel_user (id, display_name, role, disabled, created_at)
     values (?, ?, 'user', 0, 0)`
  )
  const client = db.prepare('insert into kernel_client (id, name, revision, enrolled_at) values (?, ?, 0, 0)')
  for (const id of users) user.run(id, id)
  for (const [i, id] of clients.entries()) client.run(id, `edge-${i}`)
  const series = db.prepare('insert into traffic_series (user_id, client_id) values (?, ?)')
  for (const [i, clientId] of clients.entries())
    for (const userId of users.slice(0, Math.min(users.length, pairs - i * users.length)))
      series.run(userId, clientId)
  for (const userId of [...users, '*']) series.run(userId, '*')
  for (const clientId of clients) series.run('*', clientId)
  const insertSamples = (from: number, secs: number, where: string) =>
    db
      .prepare(
        `insert into traffic_sample (series, span_secs, ts, bytes_in, bytes_out)
         with recursive span(ts) as (values (${from}) union all select ts + ${secs} from span where ts < ${lastHour})
         select series.id, ${secs}, ts, abs(random()) % 1000000000, abs(random()) % 1000000000
         from traffic_series series join span ${where}`
      )
      .run()
  insertSamples(firstHour, hourSecs, '')
  insertSamples(firstMinute, 60, `where series.user_id = '*' or series.client_id = '*'`)
}

async function bench({ request, metricsPort }: SeededServer): Promise<void> {
  await fetch(`http://127.0.0.1:${metricsPort}/metrics`) // warm-up: the first fetch of a process is slower
  console.log(`${pairs} pairs, ${days} days of hours: ${(statSync(file).size / 2 ** 20).toFixed(0)} MiB`)
  const hours = `from=${firstHour + hourSecs}&to=${lastHour}&bucket=1h`
  const minutes = `from=${lastHour - daySecs}&to=${lastHour}&bucket=1m`
  for (const [what, path] of [
    ['a pair', (i: number) => `/v1/users/${pick(users, i)}/traffic?client_id=${pick(clients, i)}&${hours}`],
    ['a user', (i: number) => `/v1/users/${pick(users, i)}/traffic?${hours}`],
    ['a client', (i: number) => `/v1/clients/${pick(clients, i)}/traffic?${hours}`],
    ['all', () => `/v1/traffic/global?${hours}`],
    ["a user's minutes", (i: number) => `/v1/users/${pick(users, i)}/traffic?${minutes}`],
    ['minutes of all', () => `/v1/traffic/global?${minutes}`]
  ] as const) {
    const times: number[] = []
    let samples = 0
    for (let i = 0; i < queries; i++) {
      const began = performance.now()
      const reply = await request(path(i))
      const body = (await reply.json()) as { samples: unknown[] } // as the route's schema says
      times.push(performance.now() - began)
      if (!reply.ok) throw new Error(JSON.stringify(body))
      samples = body.samples.length
    }
    const [atFirst = 0, median, most] = [times[0], quantile(times, 0.5), Math.max(...times)]
    console.log(
      `${what}: ${samples} samples, first ${atFirst.toFixed(1)} ms, p50 ${median.toFixed(1)} ms, ` +
        `worst ${most.toFixed(1)} ms`
    )
  }
}

const pick = (list: readonly string[], i: number): string => list[(i * 37) % list.length] ?? ''

await withSeededServer(seed, bench)
