// Deletes old samples.
import type { EntityManager } from '@mikro-orm/sql'
import { bucketSecs, retentionSecs } from './window.ts'

const seriesPerRound = 100
const samplesPerRound = 1000

/**
 * Deletes old samples of the next hundred series after the id `after`, and empty series. Each call is short. Returns the id
 * to continue after, or null at the end.
 */
export async function pruneAfter(after: number, nowSecs: number, em: EntityManager): Promise<number | null> {
  const [{ last } = { last: null }] = await em.execute<{ last: number | null }[]>(
    'select max(id) as last from (select id from traffic_series where id > ? order by id limit ?) next',
    [after, seriesPerRound]
  )
  if (last === null) return null
  for (const bucket of ['1m', '1h'] as const) {
    const { affectedRows } = await em.execute<{ affectedRows: number }>(
      `delete from traffic_sample where (series, span_secs, ts) in (
         select old.series, old.span_secs, old.ts from traffic_series
         cross join traffic_sample old
         where old.series = traffic_series.id and id > ? and id <= ? and old.span_secs = ? and old.ts < ? limit ?)`,
      [after, last, bucketSecs[bucket], nowSecs - retentionSecs[bucket], samplesPerRound],
      'run'
    )
    if (affectedRows === samplesPerRound) return after
  }
  await em.execute(
    `delete from traffic_series where id > ? and id <= ?
     and not exists (select 1 from traffic_sample where series = traffic_series.id)`,
    [after, last],
    'run'
  )
  return last
}
