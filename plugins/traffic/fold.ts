// Adds saved counts to the samples: by minute and hour, for each rule, its pair of user and client, the user, the client, and
// everything; by hour for each target of a user.
import type { EntityManager } from '@mikro-orm/sql'
import type { Rules } from '../rules/exports.ts'
import { addTo, type CountValues } from './counts.ts'
import { type Pending, take } from './pending.ts'
import { loadShownIds } from './removed-rules.ts'
import { addRows, type SampleRow } from './samples.ts'
import { countTargets, insertSeries, loadIds, pairSeries, type SeriesKey, toKey } from './series.ts'
import { bucketSecs, retentionSecs } from './window.ts'

const maxTargets = 10_000 // per user
const otherTarget = 'other'

/**
 * Folds some of the saved counts; with a user, only reports that name it. Returns false if there are none. Skips samples
 * beyond their retention.
 */
export async function foldSome(
  rules: Pick<Rules, 'shownIds'>,
  nowSecs: number,
  em: EntityManager,
  userId?: string
): Promise<boolean> {
  const pending = await take(em, userId)
  if (pending.length === 0) return false
  await addSamples(sampleRows(pending, nowSecs), rules, em)
  return true
}

interface MergedCounts {
  readonly of: SeriesKey
  readonly spanSecs: number
  readonly startSecs: number
  readonly counts: number[]
}

/** Adds up the reports of each rule and target first, because each of them belongs to several samples. */
function mergeReports(pending: readonly Pending[]): Iterable<MergedCounts> {
  const merged = new Map<string, MergedCounts>()
  const merge = (key: string, counts: CountValues, first: () => Omit<MergedCounts, 'counts'>): void => {
    const found = merged.get(key)
    if (found) addTo(found.counts, counts)
    else merged.set(key, { ...first(), counts: [...counts] })
  }
  for (const { clientId, rules, targets } of pending) {
    for (const [ruleId, userId, spanSecs, startSecs, counts] of rules)
      merge(`${ruleId} ${userId} ${spanSecs} ${startSecs}`, counts, () => {
        return { of: { userId, clientId, ruleId, target: '' }, spanSecs, startSecs }
      })
    for (const [userId, target, startSecs, counts] of targets)
      merge(`${userId} ${target} ${startSecs}`, counts, () => {
        return { of: { ...pairSeries({ userId }), target }, spanSecs: bucketSecs['1h'], startSecs }
      })
  }
  return merged.values()
}

function sampleRows(pending: readonly Pending[], nowSecs: number): SampleRow[] {
  const rows = new Map<string, SampleRow & { readonly counts: number[] }>()
  for (const { of, spanSecs: reportedSecs, startSecs, counts } of mergeReports(pending)) {
    if (counts.every(count => count === 0)) continue
    const series = of.target === '' ? [of, ...pairsOf(of)] : [of]
    for (const bucket of ['1m', '1h'] as const) {
      const spanSecs = bucketSecs[bucket]
      if (spanSecs < reportedSecs || startSecs < nowSecs - retentionSecs[bucket]) continue
      const ts = Math.floor(startSecs / spanSecs) * spanSecs
      for (const of of series) {
        const key = `${toKey(of)} ${spanSecs} ${ts}`
        const row = rows.get(key)
        if (row) addTo(row.counts, counts)
        else rows.set(key, { of, spanSecs, ts, counts: [...counts] })
      }
    }
  }
  return [...rows.values()]
}

const pairsOf = ({ userId, clientId }: SeriesKey): SeriesKey[] => [
  pairSeries({ userId, clientId }),
  pairSeries({ userId }),
  pairSeries({ clientId }),
  pairSeries({})
]

async function addSamples(
  rows: readonly SampleRow[],
  rules: Pick<Rules, 'shownIds'>,
  em: EntityManager
): Promise<void> {
  const wanted = [...new Map(rows.map(({ of }) => [toKey(of), of])).values()]
  const known = await loadIds(wanted, em)
  const missing = wanted.filter(of => !known.has(toKey(of))) // each attempted insert uses up an id
  const added = await storable(missing, rules, em)
  await insertSeries([...added.values()], em)
  const inserted = await loadIds([...added.values()], em)
  const sums = new Map<string, StoredRow>()
  for (const { of, counts, ...row } of rows) {
    const stored = added.get(toKey(of))
    const series = known.get(toKey(of)) ?? (stored && inserted.get(toKey(stored)))
    if (series === undefined) continue
    const key = `${series} ${row.spanSecs} ${row.ts}`
    const sum = sums.get(key)
    if (sum) addTo(sum.counts, counts)
    else sums.set(key, { ...row, series, counts: [...counts] })
  }
  await addRows([...sums.values()], em)
}

interface StoredRow extends Pick<SampleRow, 'spanSecs' | 'ts'> {
  readonly series: number
  readonly counts: number[]
}

/**
 * Returns, by key, the series to insert for each one that is missing. Omits series of rules with samples that were already
 * deleted. Replaces further targets of a user by `other`, because a user could name any number of targets.
 */
async function storable(missing: readonly SeriesKey[], rules: Pick<Rules, 'shownIds'>, em: EntityManager) {
  const shown = await loadShownIds(
    missing.flatMap(({ ruleId }) => (ruleId === '' ? [] : [ruleId])),
    rules,
    em
  )
  const targetUsers = new Set(missing.flatMap(({ userId, target }) => (target === '' ? [] : [userId])))
  const targets = await countTargets([...targetUsers], em)
  const storable = new Map<string, SeriesKey & { readonly shownId: string }>()
  for (const of of missing) {
    const { userId, ruleId, target } = of
    const shownId = ruleId === '' ? '' : shown.get(ruleId)
    if (shownId === undefined) continue
    const count = targets.get(userId) ?? 0
    const isOver = target !== '' && count >= maxTargets
    if (target !== '') targets.set(userId, count + 1)
    storable.set(toKey(of), { ...of, shownId, target: isOver ? otherTarget : target })
  }
  return storable
}
