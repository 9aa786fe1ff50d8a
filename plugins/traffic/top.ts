// Ranks rules, clients, owners or targets by their traffic in a window.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { seesAll } from '../http/exports.ts'
import { type Counts, fromRow, noCounts, plus, summedColumns } from './counts.ts'
import { loadNames, type Ranked, type RuleSource } from './names.ts'
import type { TopRow } from './schema.ts'
import { hoursOf, type Span } from './window.ts'

interface TopQuery {
  readonly by: Ranked
  readonly limit: number
  readonly spans: readonly Span[]
}

/** `key`: the column that names a row. `of`: the series to add up, of everybody or of one user. */
const rankings: Readonly<
  Record<Ranked, { readonly key: string; readonly all: string; readonly own: string }>
> = {
  rule: { key: 'shown_id', all: `rule_id <> ''`, own: `rule_id <> '' and user_id = ?` },
  target: { key: 'target', all: `target <> ''`, own: `target <> '' and user_id = ?` },
  client: {
    key: 'client_id',
    all: `user_id = '*' and client_id <> '*' and rule_id = ''`,
    own: `user_id = ? and client_id <> '*' and rule_id = ''`
  },
  owner: {
    key: 'user_id',
    all: `client_id = '*' and user_id <> '*' and rule_id = '' and target = ''`,
    own: `client_id = '*' and user_id = ? and rule_id = '' and target = ''`
  }
}

const seriesPerRound = 500

/** Reads some series at a time, so that other requests are answered in between. */
export async function top(
  { store, rules }: { readonly store: Pick<Kernel['store'], 'read'>; readonly rules: RuleSource },
  { by, limit, spans }: TopQuery,
  principal: Principal
): Promise<TopRow[]> {
  const sums = new Map<string, Counts>()
  for (let after: number | null = 0; after !== null; await setImmediate()) {
    const from: number = after
    after = await store.read(em => addRound({ by, spans, after: from, sums }, principal, em))
  }
  const ranked = [...sums]
    .sort(([keyA, a], [keyB, b]) => bytesOf(b) - bytesOf(a) || (keyA < keyB ? -1 : 1))
    .slice(0, limit)
  const names = await store.read(em =>
    loadNames(
      by,
      ranked.map(([key]) => key),
      rules,
      em
    )
  )
  return ranked.map(([key, { bytes_in, bytes_out, connections, refused }]) => ({
    key,
    name: names.get(key) ?? null,
    bytes_in,
    bytes_out,
    connections,
    refused
  }))
}

const bytesOf = ({ bytes_in, bytes_out }: Counts): number => bytes_in + bytes_out

interface Round extends Pick<TopQuery, 'by' | 'spans'> {
  readonly after: number // id of a series
  readonly sums: Map<string, Counts>
}

/** Adds the series after an id to the sums. Returns the id to continue after, or null at the end. */
async function addRound(
  { by, spans, after, sums }: Round,
  principal: Principal,
  em: EntityManager
): Promise<number | null> {
  const { key, all, own } = rankings[by]
  const isAll = seesAll(principal)
  const where = `${isAll ? all : own} and id > ?`
  const values = [...(isAll ? [] : [principal.userId]), after]
  const [{ last, n } = { last: null, n: 0 }] = await em.execute<
    { last: number | null; n: number | string }[]
  >(
    `select max(id) as last, count(*) as n
     from (select id from traffic_series where ${where} order by id limit ${seriesPerRound}) next`,
    values
  )
  if (last === null) return null
  for (const { spanSecs, from, to } of by === 'target' ? hoursOf(spans) : spans) {
    const found = await em.execute<({ key: string } & Counts)[]>(
      `select ${key} as "key", ${summedColumns} from traffic_series
       cross join traffic_sample where series = id and ${where} and id <= ? and span_secs = ? and ts >= ? and ts < ?
       group by ${key}`,
      [...values, last, spanSecs, from, to]
    )
    for (const row of found) sums.set(row.key, plus(sums.get(row.key) ?? noCounts, fromRow(row)))
  }
  return Number(n) < seriesPerRound ? null : Number(last)
}
