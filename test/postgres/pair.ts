// A primary and a standby that follows, behind one address.
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { breakableLink } from '../support/breakable-link.ts'
import { followed, makeCluster, type Standby } from './cluster.ts'

export interface Pair {
  readonly url: string // of the database sluice, by the one address
  readonly primary: pg.Client
  readonly at: Standby['at'] // of the one that is in force
  /** What is committed from now on does not reach the standby, which has all that was before. */
  detach(): Promise<void>
  /** The primary dies as without power, and the standby takes over its address. */
  failOver(): void
  /** New connections lead to the standby, which takes over; those that are there stay. */
  divide(): void
}

/** Makes a primary with a standby that follows. */
export async function pairOf(t: Test): Promise<Pair> {
  const primary = await makeCluster(followed)
  t.teardown(primary.remove)
  primary.start()
  await runAt(primary.at('postgres'), [
    'create role ordinary login', // as OPERATING.md makes it
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

/** What the primary commits from now on does not reach its standby, which has all that was before. */
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

/** PostgreSQL tells nobody what its standby has done. */
export async function untilTrue(client: pg.Client, question: string): Promise<void> {
  while ((await client.query(question)).rows[0]?.yes !== true) await wait(20)
}
