// The table of samples. Each write updates minutes and hours, so no rollup is needed.
import type { EntityManager } from '@mikro-orm/sql'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { type Counts, type CountValues, columns, fromRow, maxCount, summedColumns } from './counts.ts'
import { anyId, pairSeries, type SeriesKey } from './series.ts'
import type { Window } from './window.ts'

export interface Sample extends Counts {
  readonly ts: number
}

/** Counts to add to the sample of a series. */
export interface SampleRow {
  readonly of: SeriesKey
  readonly spanSecs: number // 60 or 3600
  readonly ts: number // its start, Unix seconds
  readonly counts: CountValues
}

const increased = columns
  .map(column => {
    const sum = `traffic_sample.${column} + excluded.${column}`
    return `${column} = case when ${sum} > ${maxCount} then ${maxCount} else ${sum} end`
  })
  .join(', ')
const placeholders = `(?, ?, ?, ${columns.map(() => '?').join(', ')})`

/** Adds rows to samples of the series with the given ids. No two rows may be of the same sample. */
export async function addRows(
  rows: readonly (Omit<SampleRow, 'of'> & { readonly series: number })[],
  em: EntityManager
): Promise<void> {
  for (const some of rowBatches(rows, 3 + columns.length))
    await em.execute(
      `insert into traffic_sample (series, span_secs, ts, ${columns.join(', ')})
       values ${some.map(() => placeholders)}
       on conflict (series, span_secs, ts) do update set ${increased}`,
      some.flatMap(({ series, spanSecs, ts, counts }) => [series, spanSecs, ts, ...counts]),
      'run'
    )
}

/** Returns the samples of a user, a client, a pair, or everything: a missing id stands for all. */
export async function readPair(
  key: Partial<Pick<SeriesKey, 'userId' | 'clientId'>>,
  window: Window,
  em: EntityManager
): Promise<Sample[]> {
  if (Object.values(key).includes(anyId)) return [] // no id of a user or client
  const { userId, clientId } = pairSeries(key)
  const series = `select id from traffic_series where user_id = ? and client_id = ? and rule_id = '' and target = ''`
  return read(series, [userId, clientId], window, em)
}

/** Returns the samples of a rule, over all its owners and members. */
export const readRule = (shownId: string, window: Window, em: EntityManager): Promise<Sample[]> =>
  read('select id from traffic_series where shown_id = ?', [shownId], window, em)

async function read(
  series: string,
  values: readonly string[],
  { spanSecs, from, to }: Window,
  em: EntityManager
): Promise<Sample[]> {
  const rows = await em.execute<Sample[]>(
    `select ts, ${summedColumns} from traffic_sample
     where series in (${series}) and span_secs = ? and ts >= ? and ts < ? group by ts order by ts`,
    [...values, spanSecs, from, to]
  )
  return rows.map(row => ({ ts: Number(row.ts), ...fromRow(row) }))
}
