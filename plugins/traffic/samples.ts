// The tables of samples. Each write updates minutes and hours, so no rollup is needed.
import type { EntityManager } from '@mikro-orm/sql'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import type { CommittedBytes } from '../stats/exports.ts'
import { TrafficSeries } from './entities.ts'
import { bucketSecs, retentionSecs, type Window } from './window.ts'

export interface Sample {
  readonly ts: number
  readonly bytes_in: number
  readonly bytes_out: number
}

export interface SeriesKey {
  readonly userId: string
  readonly clientId: string
}

interface SampleRow extends SeriesKey {
  readonly spanSecs: number
  readonly ts: number
  bytesIn: number
  bytesOut: number
}

const anyId = '*' // stands for all users, or all clients
const all: SeriesKey = { userId: anyId, clientId: anyId }
/** Sums stop here, because JSON numbers beyond it are not exact. */
export const maxBytes = Number.MAX_SAFE_INTEGER
const seriesPerRound = 100
const samplesPerRound = 1000
const increased = ['bytes_in', 'bytes_out']
  .map(column => {
    const sum = `traffic_sample.${column} + excluded.${column}`
    return `${column} = case when ${sum} > ${maxBytes} then ${maxBytes} else ${sum} end`
  })
  .join(', ')

/** Adds committed bytes. Skips samples beyond their retention. */
export async function add(
  committed: readonly CommittedBytes[],
  nowSecs: number,
  em: EntityManager
): Promise<[]> {
  const added = sum(committed, nowSecs)
  const ids = await ensureSeries(added, em)
  for (const some of rowBatches(added, 5))
    await em.execute(
      `insert into traffic_sample (series, span_secs, ts, bytes_in, bytes_out)
       values ${some.map(() => '(?, ?, ?, ?, ?)')}
       on conflict (series, span_secs, ts) do update set ${increased}`,
      some.flatMap(row => [ids.get(toKey(row)), row.spanSecs, row.ts, row.bytesIn, row.bytesOut]),
      'run'
    )
  return []
}

/** Returns one row per series, span and start. Omits rows without bytes. */
function sum(committed: readonly CommittedBytes[], nowSecs: number): SampleRow[] {
  const rows = new Map<string, SampleRow>()
  for (const { owner: userId, clientId, startSecs, span, bytesIn, bytesOut } of committed) {
    const buckets = span === 'minute' ? (['1m', '1h'] as const) : (['1h'] as const)
    const kept = buckets.filter(bucket => startSecs >= nowSecs - retentionSecs[bucket])
    const spans = kept.map(bucket => bucketSecs[bucket])
    for (const series of [
      { userId, clientId },
      { userId, clientId: anyId },
      { userId: anyId, clientId },
      all
    ])
      for (const spanSecs of spans) {
        const ts = Math.floor(startSecs / spanSecs) * spanSecs
        const key = `${toKey(series)} ${spanSecs} ${ts}`
        const row = rows.get(key) ?? { ...series, spanSecs, ts, bytesIn: 0, bytesOut: 0 }
        row.bytesIn = Math.min(maxBytes, row.bytesIn + bytesIn)
        row.bytesOut = Math.min(maxBytes, row.bytesOut + bytesOut)
        rows.set(key, row)
      }
  }
  return [...rows.values()].filter(({ bytesIn, bytesOut }) => bytesIn + bytesOut > 0)
}

async function ensureSeries(rows: readonly SeriesKey[], em: EntityManager): Promise<Map<string, number>> {
  const wanted = [...new Map(rows.map(row => [toKey(row), row])).values()]
  const ids = await loadIds(wanted, em)
  const added = wanted.filter(row => !ids.has(toKey(row))) // each attempted insert uses up an id
  for (const some of rowBatches(added, 2))
    await em.execute(
      `insert into traffic_series (user_id, client_id) values ${some.map(() => '(?, ?)')} on conflict do nothing`,
      some.flatMap(({ userId, clientId }) => [userId, clientId]),
      'run'
    )
  return new Map([...ids, ...(await loadIds(added, em))])
}

async function loadIds(wanted: readonly SeriesKey[], em: EntityManager): Promise<Map<string, number>> {
  const ids = new Map<string, number>()
  for (const some of rowBatches(wanted, 2)) {
    const found = await em.execute<{ id: number; user_id: string; client_id: string }[]>(
      `select id, user_id, client_id from traffic_series
       where (user_id, client_id) in (values ${some.map(() => '(?, ?)')})`,
      some.flatMap(({ userId, clientId }) => [userId, clientId])
    )
    for (const { id, user_id: userId, client_id: clientId } of found) ids.set(toKey({ userId, clientId }), id)
  }
  return ids
}

/** A missing `userId` or `clientId` stands for all users or all clients. */
export async function read(key: Partial<SeriesKey>, window: Window, em: EntityManager): Promise<Sample[]> {
  if (Object.values(key).includes(anyId)) return [] // no id of a user or client
  const series = await em.findOne(TrafficSeries, { ...all, ...key })
  if (!series) return []
  const rows = await em.execute<Sample[]>(
    `select ts, bytes_in, bytes_out from traffic_sample
     where series = ? and span_secs = ? and ts >= ? and ts < ? order by ts`,
    [series.id, window.spanSecs, window.from, window.to]
  )
  return rows.map(({ ts, bytes_in, bytes_out }) => ({
    ts,
    bytes_in: Math.min(maxBytes, Number(bytes_in)),
    bytes_out: Math.min(maxBytes, Number(bytes_out))
  }))
}

/** Renames the series of a deleted user to a name that no user can have. */
export async function disown(userId: string, unusedName: string, em: EntityManager): Promise<void> {
  await em.nativeUpdate(TrafficSeries, { userId }, { userId: unusedName })
}

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

const toKey = ({ userId, clientId }: SeriesKey): string => `${userId} ${clientId}`
