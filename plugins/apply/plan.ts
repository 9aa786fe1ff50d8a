// The steps that bring the server into the state of a document. They are computed from the present state, so that a run
// after an interrupted one does the rest.
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  type DocumentKind,
  hasSameBody
} from '../rules/command-exports.ts'
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
  await validate(document, context.api)
  const steps: Step[] = []
  const deletions: Step[] = []
  for (const kind of kindsIn(context)) {
    const entries = document[kind.name]
    if (!entries) continue
    const wanted = entries.map((entry, at) => parsed(kind, entry, at, context))
    if (!kind.hasSeveral) refuseDuplicates(kind, wanted, context)
    const { pairs, left } = paired(kind, wanted, await kind.list(context), prune)
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

/**
 * Matches wanted objects with present ones: by the id that an entry gives, by the same key and body, by the same key,
 * and those that would be deleted with what they may have become.
 */
function paired(
  kind: DocumentKind,
  wanted: readonly DocumentItem[],
  present: readonly DocumentItem[],
  prune: 'prune' | 'keep'
) {
  const left = new Set(present)
  const found = new Map<DocumentItem, DocumentItem>()
  const match = (item: DocumentItem, from: DocumentItem | undefined): void => {
    if (!from) return
    left.delete(from)
    found.set(item, from)
  }
  const unmatched = () => wanted.filter(item => !found.has(item))
  for (const item of unmatched().filter(({ id }) => id !== '')) match(item, requirePresent(kind, item, left))
  const byKey = Map.groupBy(left, ({ key }) => key)
  const take = (item: DocumentItem, fits: (from: DocumentItem) => boolean): void =>
    match(
      item,
      byKey.get(item.key)?.find(from => left.has(from) && fits(from))
    )
  for (const item of unmatched()) take(item, from => hasSameBody(from, kind.complete?.(item, from) ?? item))
  for (const item of unmatched()) take(item, () => true)
  if (prune === 'prune') for (const [item, from] of moved(kind, unmatched(), left)) match(item, from)
  return { pairs: wanted.map((item): Pair => ({ wanted: item, from: found.get(item) })), left: [...left] }
}

function requirePresent({ name }: DocumentKind, { id }: DocumentItem, left: ReadonlySet<DocumentItem>) {
  const from = [...left].find(present => present.id === id)
  if (from) return from
  throw new Fault(
    invalidSchema,
    `${name}: there is no ${id}, or the file has it twice; leave the id out to create one`
  )
}

/** Returns the pairs with exactly one element on each side. */
function moved(
  { movedKey }: DocumentKind,
  wanted: readonly DocumentItem[],
  present: Iterable<DocumentItem>
): (readonly [DocumentItem, DocumentItem])[] {
  if (!movedKey) return []
  const candidates = Map.groupBy(present, movedKey)
  return [...Map.groupBy(wanted, movedKey)].flatMap(([key, items]) => {
    const [[item, other], [from, second]] = [items, candidates.get(key) ?? []]
    return item && from && !other && !second ? [[item, from] as const] : []
  })
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
