// A primary and its standby, behind one address.
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { breakableLink } from '../support/breakable-link.ts'
import { followed, makeCluster, type Standby } from './cluster.ts'

export interface Pair {
  readonly url: string // of the database sluice, at the shared address
  readonly primary: pg.Client
  readonly at: Standby['at'] // of the current primary
  /** Stops replication; the standby has everything committed before. */
  detach(): Promise<void>
  /** Kills the primary like a power failure; the standby takes over its address. */
  failOver(): void
  /** Sends new connections to the standby, which is promoted; existing connections stay. */
  divide(): void
}

/** Starts a primary and its standby. */
export async function pairOf(t: Test): Promise<Pair> {
  const primary = await makeCluster(followed)
  t.teardown(primary.remove)
  primary.start()
  await runAt(primary.at('postgres'), [
    'create role ordinary login', // as in OPERATING.md
    "create database sluice owner ordinary encoding 'UTF8' template template0"
  ])
  const standby = await primary.standby()
  t.teardown(standby.remove)
  let inForce: Pick<Standby, 'at'> = primary
  const link = await breakableLink(t, () => Number(new URL(inForce.at('sluice').url).port))
  const [client, follower] = await Promise.all([clientOf(t, primary), clientOf(t, standby)])
  const promote = (): void => {
    standby.promote()
    inForce = standby
  }
  return {
    url: `postgres://ordinary@127.0.0.1:${link.port}/sluice`,
    primary: client,
    at: database => inForce.at(database),
    detach: () => detach(client, follower),
    failOver() {
      primary.kill()
      promote()
      link.cut()
      link.heal()
    },
    divide: promote
  }
}

/** Stops replication to the standby, which has everything committed before. */
export async function detach(primary: pg.Client, standby: pg.Client): Promise<void> {
  const { rows } = await primary.query('select pg_current_wal_lsn()::text as lsn')
  await untilTrue(standby, `select pg_last_wal_replay_lsn() >= '${rows[0].lsn}' as yes`)
  await standby.query(`alter system set primary_conninfo = ''`)
  await standby.query('select pg_reload_conf()')
  await untilTrue(standby, 'select not exists (select from pg_stat_wal_receiver) as yes')
}

async function clientOf(t: Test, { at }: Pick<Standby, 'at'>): Promise<pg.Client> {
  const client = new pg.Client(at('sluice').url)
  client.on('error', () => {}) // its database is killed
  await client.connect()
  t.teardown(() => client.end().catch(() => {}))
  return client
}

/** Polls, since PostgreSQL has no event for the progress of a standby. */
export async function untilTrue(client: pg.Client, question: string): Promise<void> {
  while ((await client.query(question)).rows[0]?.yes !== true) await wait(20)
}
