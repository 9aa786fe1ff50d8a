// The table of series. Their ids are stable until their last sample is deleted.
import type { EntityManager } from '@mikro-orm/sql'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { TrafficSeries } from './entities.ts'

export const anyId = '*' // stands for all users, or all clients

export interface SeriesKey {
  readonly userId: string
  readonly clientId: string
  readonly ruleId: string // '': not of a rule
  readonly target: string // '': not of a target
}

export interface NewSeries extends SeriesKey {
  readonly shownId: string
}

export const toKey = ({ userId, clientId, ruleId, target }: SeriesKey): string =>
  `${userId} ${clientId} ${ruleId} ${target}`

/** The series of a pair; by default of all users and all clients. */
export const pairSeries = ({ userId = anyId, clientId = anyId }: Partial<SeriesKey>): SeriesKey => ({
  userId,
  clientId,
  ruleId: '',
  target: ''
})

/** Returns the ids of the series that exist, by `toKey`. */
export async function loadIds(wanted: readonly SeriesKey[], em: EntityManager): Promise<Map<string, number>> {
  const ids = new Map<string, number>()
  for (const some of rowBatches(wanted, 4)) {
    const found = await em.execute<{ id: number; u: string; c: string; r: string; t: string }[]>(
      `select id, user_id as u, client_id as c, rule_id as r, target as t from traffic_series
       where (user_id, client_id, rule_id, target) in (values ${some.map(() => '(?, ?, ?, ?)')})`,
      some.flatMap(({ userId, clientId, ruleId, target }) => [userId, clientId, ruleId, target])
    )
    for (const { id, u: userId, c: clientId, r: ruleId, t: target } of found)
      ids.set(toKey({ userId, clientId, ruleId, target }), Number(id))
  }
  return ids
}

export async function insertSeries(rows: readonly NewSeries[], em: EntityManager): Promise<void> {
  for (const some of rowBatches(rows, 5))
    await em.execute(
      `insert into traffic_series (user_id, client_id, rule_id, shown_id, target)
       values ${some.map(() => '(?, ?, ?, ?, ?)')} on conflict do nothing`,
      some.flatMap(({ userId, clientId, ruleId, shownId, target }) => [
        userId,
        clientId,
        ruleId,
        shownId,
        target
      ]),
      'run'
    )
}

/** Counts the targets of each of these users. */
export async function countTargets(
  userIds: readonly string[],
  em: EntityManager
): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const some of rowBatches(userIds)) {
    const found = await em.execute<{ userId: string; n: number | string }[]>(
      `select user_id as "userId", count(*) as n from traffic_series
       where user_id in (${some.map(() => '?')}) and target <> '' group by user_id`,
      [...some]
    )
    for (const { userId, n } of found) counts.set(userId, Number(n))
  }
  return counts
}

/** Renames the series of a deleted user to a name that no user can have. */
export async function disown(userId: string, unusedName: string, em: EntityManager): Promise<void> {
  await em.nativeUpdate(TrafficSeries, { userId }, { userId: unusedName })
}
