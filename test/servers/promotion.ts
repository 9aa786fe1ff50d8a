// Promotes a standby that is behind, and redirects servers to it.
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Cluster, Standby } from '../postgres/cluster.ts'
import { detach } from '../postgres/pair.ts'
import { decide } from './changes.ts'
import type { Link } from './link.ts'
import { type Recorder, registerOf, type Values } from './run-log.ts'
import { ruleOf, type ServerPlace, until } from './server-place.ts'

interface Options {
  readonly standby: Standby
  readonly recorder: Recorder
  readonly links: readonly Link[] // to the database
  readonly clientIds: readonly string[] // each gets a rule that is lost
}

const lostPort = 8_001
const lagMs = 5_000 // the standby misses at least this time and this number of writes
const lostWrites = 20

/** Returns the record of the failover, without the time when each server has detected it. */
export async function promote(place: ServerPlace, { standby, recorder, links, clientIds }: Options) {
  const began = performance.now()
  await withClients([place.cluster, standby], ([primary, follower]) => detach(primary, follower))
  const lost = clientIds.map(clientId =>
    decide(
      place.servers,
      { method: 'POST', path: '/v1/rules', body: ruleOf(clientId, lostPort) },
      { withinMs: lagMs }
    )
  )
  const before = recorder.written()
  await pause(lagMs)
  await until(
    async () => recorder.written() - before,
    count => count >= lostWrites
  )
  const killed = performance.now()
  place.cluster.kill()
  standby.promote()
  place.takeOver(standby)
  const stored = await valuesIn(place)
  const ended = performance.now()
  const port = Number(new URL(standby.at('sluice').url).port)
  await Promise.all(links.map(link => link.lead(port)))
  await Promise.all(lost)
  return { kind: 'promoted' as const, began, killed, ended, stored }
}

/** Waits until each server gets an answer of the store. */
export async function recordRestored(
  { servers }: ServerPlace,
  promoted: Awaited<ReturnType<typeof promote>>,
  { add }: Recorder
): Promise<void> {
  const ask = () =>
    Promise.all(servers.map(server => server.call({ method: 'GET', path: '/v1/users', withinMs: 5_000 })))
  const replies = await until(ask, replies => replies.every(({ status }) => status === 200))
  if (replies.some(({ status }) => status !== 200)) throw new Error('a server does not reach the standby')
  add({ ...promoted, restored: performance.now() })
}

/** Returns the register value of each rule in the store. */
export async function valuesIn({ query }: Pick<ServerPlace, 'query'>): Promise<Values> {
  const rows = await query<{ id: string; targets: string }>('select id, targets from rules')
  return Object.fromEntries(
    rows.map(({ id, targets }) => [id, registerOf({ targets: JSON.parse(targets) }) ?? -1])
  )
}

async function withClients(
  clusters: readonly [Pick<Cluster, 'at'>, Pick<Cluster, 'at'>],
  work: (clients: readonly [pg.Client, pg.Client]) => Promise<void>
): Promise<void> {
  const [one, other] = clusters.map(({ at }) => new pg.Client(at('sluice').url)) as [pg.Client, pg.Client] // as many as clusters
  try {
    await Promise.all([one.connect(), other.connect()])
    await work([one, other])
  } finally {
    await Promise.all([one.end(), other.end()])
  }
}
