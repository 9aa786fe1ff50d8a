// The steps that bring the server into the state of a document. They are computed from the present state, so that a run
// after an interrupted one does the rest.
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  type DocumentKind,
  hasSameBody
} from '../rules/exports.ts'
import { changesOf } from './changes.ts'
import { kindsIn } from './context.ts'
import type { Document } from './document.ts'
import { named } from './named.ts'
import { validate } from './validation.ts'

export interface Step {
  readonly verb: 'create' | 'change' | 'replace' | 'delete'
  readonly label: string
  readonly changes: readonly string[] // 'path old -> new', of an object that exists
  readonly drops: number // live connections and flows that end
  run(): Promise<void>
}

/** `prune` deletes what the document leaves out, of the kinds that it has. */
export async function makePlan(
  document: Document,
  prune: 'prune' | 'keep',
  context: DocumentContext
): Promise<Step[]> {
  const steps: Step[] = []
  const deletions: Step[] = []
  for (const kind of kindsIn(context)) {
    const entries = document[kind.name]
    if (!entries) continue
    await validate(kind, entries, context)
    const wanted = entries.map((entry, at) => parsed(kind, entry, at, context))
    if (!kind.hasSeveral) refuseDuplicates(kind, wanted, context)
    const { pairs, left } = paired(kind, wanted, await kind.list(context))
    for (const pair of pairs) steps.push(...(await stepsFor(kind, pair, context)))
    if (prune === 'prune') for (const item of left) deletions.unshift(await deletion(kind, item, context))
  }
  return [...steps, ...deletions]
}

function parsed(
  kind: DocumentKind,
  entry: DocumentEntry,
  at: number,
  context: DocumentContext
): DocumentItem {
  try {
    return kind.parse(entry, context)
  } catch (error) {
    throw named(`${kind.name}[${at}]`, error)
  }
}

interface Pair {
  readonly wanted: DocumentItem
  readonly from: DocumentItem | undefined // on the server
}

/** Matches wanted objects with present ones of the same key, those that are the same first. */
function paired(kind: DocumentKind, wanted: readonly DocumentItem[], present: readonly DocumentItem[]) {
  const left = new Map(Map.groupBy(present, ({ key }) => key))
  const take = (item: DocumentItem, fits: (from: DocumentItem) => boolean): DocumentItem | undefined => {
    const candidates = left.get(item.key) ?? []
    const found = candidates.find(fits)
    left.set(
      item.key,
      candidates.filter(other => other !== found)
    )
    return found
  }
  const same = wanted.map(item => take(item, from => hasSameBody(from, kind.complete?.(item, from) ?? item)))
  const pairs = wanted.map((item, at): Pair => ({ wanted: item, from: same[at] ?? take(item, () => true) }))
  return { pairs, left: [...left.values()].flat() }
}

async function stepsFor(
  kind: DocumentKind,
  { wanted, from }: Pair,
  context: DocumentContext
): Promise<Step[]> {
  const label = kind.label(wanted, context)
  if (!from)
    return [{ verb: 'create', label, changes: [], drops: 0, run: () => kind.create(wanted, context) }]
  const to = kind.complete?.(wanted, from) ?? wanted
  if (hasSameBody(from, to)) return []
  const changes = changesOf(from.body, to.body)
  const change = kind.change?.(from, to, context)
  if (change) return [{ verb: 'change', label, changes, drops: 0, run: change }]
  const run = async (): Promise<void> => {
    if (kind.replace) return kind.replace(from, to, context)
    await kind.create(to, context)
    await kind.remove(from, context)
  }
  return [{ verb: 'replace', label, changes, drops: await dropsOf(kind, from, context), run }]
}

async function deletion(kind: DocumentKind, item: DocumentItem, context: DocumentContext): Promise<Step> {
  return {
    verb: 'delete',
    label: kind.label(item, context),
    changes: [],
    drops: await dropsOf(kind, item, context),
    run: () => kind.remove(item, context)
  }
}

const dropsOf = async (kind: DocumentKind, item: DocumentItem, context: DocumentContext): Promise<number> =>
  (await kind.liveTraffic?.(item, context)) ?? 0

function refuseDuplicates(
  kind: DocumentKind,
  items: readonly DocumentItem[],
  context: DocumentContext
): void {
  const second = items.find(({ key }, at) => items.findIndex(other => other.key === key) < at)
  if (second) throw new Fault(invalidSchema, `the file has ${kind.label(second, context)} twice`)
}
