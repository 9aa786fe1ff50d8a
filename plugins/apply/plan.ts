// The steps that make the server match a document. They are computed from the current state, so that a run after an
// interrupted one completes the remaining steps.
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  type DocumentKind,
  hasSameBody
} from '../rules/command-exports.ts'
import { describeChanges } from './describe-changes.ts'
import type { Document } from './document.ts'
import { listKinds } from './document-context.ts'
import { prefixFault } from './prefix-fault.ts'
import { validateDocument } from './validate-document.ts'

export interface Step {
  readonly verb: 'create' | 'change' | 'replace' | 'delete'
  readonly label: string
  readonly changes: readonly string[] // 'path old -> new', if the object exists
  readonly drops: number // live connections and flows that the step ends
  run(): Promise<void>
}

/** `prune` deletes objects that are not in the document, of kinds that the document has. */
export async function makePlan(
  document: Document,
  prune: 'prune' | 'keep',
  context: DocumentContext
): Promise<Step[]> {
  await validateDocument(document, context.api)
  const steps: Step[] = []
  const deletions: Step[] = []
  for (const kind of listKinds(context)) {
    const entries = document[kind.name]
    if (!entries) continue
    const wanted = entries.map((entry, at) => parseEntry(kind, entry, at, context))
    if (!kind.hasSeveral) refuseDuplicates(kind, wanted, context)
    const { pairs, left } = matchItems(kind, wanted, await kind.list(context), prune)
    for (const pair of pairs) steps.push(...(await makeSteps(kind, pair, context)))
    if (prune === 'prune') for (const item of left) deletions.unshift(await makeDeletion(kind, item, context))
  }
  return [...steps, ...deletions]
}

function parseEntry(
  kind: DocumentKind,
  entry: DocumentEntry,
  at: number,
  context: DocumentContext
): DocumentItem {
  try {
    return kind.parse(entry, context)
  } catch (error) {
    throw prefixFault(`${kind.name}[${at}]`, error)
  }
}

interface Pair {
  readonly wanted: DocumentItem
  readonly from: DocumentItem | undefined // on the server
}

/**
 * Matches wanted objects with those on the server, in this order: by the entry's id; by key and body; by key; and with
 * `prune`, by `movedKey`, if the match is unique. Returns the unmatched objects of the server as `left`.
 */
function matchItems(
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
  if (prune === 'prune') for (const [item, from] of matchMoved(kind, unmatched(), left)) match(item, from)
  return { pairs: wanted.map((item): Pair => ({ wanted: item, from: found.get(item) })), left: [...left] }
}

function requirePresent({ name }: DocumentKind, { id }: DocumentItem, left: ReadonlySet<DocumentItem>) {
  const from = [...left].find(present => present.id === id)
  if (from) return from
  throw new Fault(
    invalidSchema,
    `${name}: there is no ${id}, or the file has it twice; omit the id to create an object`
  )
}

/** Returns the pairs with the same `movedKey` that exactly one object on each side has. */
function matchMoved(
  { movedKey }: DocumentKind,
  wanted: readonly DocumentItem[],
  present: Iterable<DocumentItem>
): (readonly [DocumentItem, DocumentItem])[] {
  if (!movedKey) return []
  const candidates = Map.groupBy(present, movedKey)
  return [...Map.groupBy(wanted, movedKey)].flatMap(([key, items]) => {
    const [item, otherItem] = items
    const [from, otherFrom] = candidates.get(key) ?? []
    return item && from && !otherItem && !otherFrom ? [[item, from] as const] : []
  })
}

async function makeSteps(
  kind: DocumentKind,
  { wanted, from }: Pair,
  context: DocumentContext
): Promise<Step[]> {
  const label = kind.label(wanted, context)
  if (!from)
    return [{ verb: 'create', label, changes: [], drops: 0, run: () => kind.create(wanted, context) }]
  const to = kind.complete?.(wanted, from) ?? wanted
  if (hasSameBody(from, to)) return []
  const changes = describeChanges(from.body, to.body)
  const change = kind.change?.(from, to, context)
  if (change) return [{ verb: 'change', label, changes, drops: 0, run: change }]
  const run = async (): Promise<void> => {
    if (kind.replace) return kind.replace(from, to, context)
    await kind.create(to, context)
    await kind.remove(from, context)
  }
  return [{ verb: 'replace', label, changes, drops: await countDrops(kind, from, context), run }]
}

async function makeDeletion(kind: DocumentKind, item: DocumentItem, context: DocumentContext): Promise<Step> {
  return {
    verb: 'delete',
    label: kind.label(item, context),
    changes: [],
    drops: await countDrops(kind, item, context),
    run: () => kind.remove(item, context)
  }
}

const countDrops = async (
  kind: DocumentKind,
  item: DocumentItem,
  context: DocumentContext
): Promise<number> => (await kind.liveTraffic?.(item, context)) ?? 0

function refuseDuplicates(
  kind: DocumentKind,
  items: readonly DocumentItem[],
  context: DocumentContext
): void {
  const second = items.find(({ key }, at) => items.findIndex(other => other.key === key) < at)
  if (second) throw new Fault(invalidSchema, `the file has ${kind.label(second, context)} twice`)
}
