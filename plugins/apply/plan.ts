// The steps that make the server match a document. They are computed from the current state, so that a run after an
// interrupted one completes the remaining steps.
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  type DocumentKind,
  describeUnsettled,
  hasSameBody
} from '../rules/command-exports.ts'
import { describeChanges } from './describe-changes.ts'
import type { Document } from './document.ts'
import { listKinds } from './document-context.ts'
import { normalizeDocument } from './normalize-document.ts'
import { prefixFault } from './prefix-fault.ts'

export interface Step {
  readonly verb: 'create' | 'change' | 'replace' | 'delete'
  readonly label: string
  readonly changes: readonly string[] // 'path old -> new', if the object exists
  readonly drops: number // live connections and flows that the step ends
  readonly scope: string // kind and client: a deletion waits for the other steps of its scope
  /** Resolves with the reason if a client does not have the change in force, else null: see `describeUnsettled`. */
  run(): Promise<string | null>
}

export interface Plan {
  readonly steps: readonly Step[]
  /** Objects that are as the document has them, but that a client does not have in force: `rule paris tcp 80 is pending`. */
  readonly unsettled: readonly string[]
}

/** `prune` deletes objects that are not in the document, of kinds that the document has. */
export async function makePlan(
  document: Document,
  prune: 'prune' | 'keep',
  context: DocumentContext
): Promise<Plan> {
  const normal = await normalizeDocument(document, context)
  const steps: Step[] = []
  const deletions: Step[] = []
  const unsettled: string[] = []
  for (const kind of listKinds(context)) {
    const entries = normal[kind.name]
    if (!entries) continue
    const wanted = entries.map((entry, at) => parseEntry(kind, entry, at, context))
    refuseDuplicates(kind, wanted, context)
    const { pairs, left } = matchItems(kind, wanted, await kind.list(context), prune)
    for (const pair of pairs) {
      const step = await makeStep(kind, pair, context)
      if (step) steps.push(step)
      else if (pair.from?.unsettled)
        unsettled.push(`${kind.label(pair.wanted, context)} is ${pair.from.unsettled}`)
    }
    const surplus = prune === 'prune' ? [...left].filter(({ isImplicit = false }) => !isImplicit) : []
    for (const item of surplus) deletions.unshift(await makeDeletion(kind, item, context))
  }
  return { steps: [...steps, ...deletions], unsettled }
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
 * Matches wanted objects with those on the server, in this order: by the entry's id; by name, if the match is unique; by key
 * and body; by key; and with `prune`, by `movedKey`, if the match is unique. Returns the unmatched objects of the server
 * as `left`.
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
  for (const [item, from] of matchUnique(kind.nameKey, unmatched(), left)) match(item, from)
  const byKey = Map.groupBy(left, ({ key }) => key)
  const take = (item: DocumentItem, fits: (from: DocumentItem) => boolean): void =>
    match(
      item,
      byKey.get(item.key)?.find(from => left.has(from) && fits(from))
    )
  for (const item of unmatched()) take(item, from => hasSameBody(from, kind.complete?.(item, from) ?? item))
  for (const item of unmatched()) take(item, () => true)
  if (prune === 'prune')
    for (const [item, from] of matchUnique(kind.movedKey, unmatched(), left)) match(item, from)
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

/** Returns the pairs with the same key that exactly one object on each side has. A null key matches nothing. */
function matchUnique(
  keyOf: ((item: DocumentItem) => string | null) | undefined,
  wanted: readonly DocumentItem[],
  present: Iterable<DocumentItem>
): (readonly [DocumentItem, DocumentItem])[] {
  if (!keyOf) return []
  const candidates = Map.groupBy(present, keyOf)
  return [...Map.groupBy(wanted, keyOf)].flatMap(([key, items]) => {
    const [item, otherItem] = items
    const [from, otherFrom] = candidates.get(key) ?? []
    return key !== null && item && from && !otherItem && !otherFrom ? [[item, from] as const] : []
  })
}

/** Returns undefined if the server has the object as the document does. */
async function makeStep(
  kind: DocumentKind,
  { wanted, from }: Pair,
  context: DocumentContext
): Promise<Step | undefined> {
  const step = { label: kind.label(wanted, context), scope: scopeOf(kind, wanted), changes: [], drops: 0 }
  const settle = async (record: Promise<unknown>) => describeUnsettled(await record, context)
  if (!from) return { ...step, verb: 'create', run: () => settle(kind.create(wanted, context)) }
  const to = kind.complete?.(wanted, from) ?? wanted
  if (hasSameBody(from, to)) return undefined
  const changes = describeChanges(from.body, to.body)
  const change = kind.change?.(from, to, context)
  if (change) return { ...step, verb: 'change', changes, run: () => settle(change()) }
  const replace = async (): Promise<unknown> => {
    if (kind.replace) return kind.replace(from, to, context)
    const record = await kind.create(to, context)
    await removeIfPresent(kind, from, context)
    return record
  }
  const drops = await countDrops(kind, from, context)
  return { ...step, verb: 'replace', changes, drops, run: () => settle(replace()) }
}

const scopeOf = ({ name }: DocumentKind, { body }: DocumentItem): string =>
  `${name} ${body['client'] ?? body['client_id'] ?? ''}`

/** Another change may have removed it already: the owner, the client, or a run that was interrupted. */
async function removeIfPresent(
  kind: DocumentKind,
  item: DocumentItem,
  context: DocumentContext
): Promise<unknown> {
  try {
    return await kind.remove(item, context)
  } catch (error) {
    if (!(error instanceof Fault && error.errorCode.http === 404)) throw error
    return undefined
  }
}

async function makeDeletion(kind: DocumentKind, item: DocumentItem, context: DocumentContext): Promise<Step> {
  return {
    verb: 'delete',
    label: kind.label(item, context),
    changes: [],
    drops: await countDrops(kind, item, context),
    scope: scopeOf(kind, item),
    run: async () => describeUnsettled(await removeIfPresent(kind, item, context), context)
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
  const added = Object.keys(context.defaults(kind.name))
  const isSame = (a: DocumentItem, b: DocumentItem): boolean => !kind.hasSeveral || hasSameBody(a, b, added)
  const second = [...Map.groupBy(items, ({ key }) => key).values()]
    .flatMap(group => group.filter((item, at) => group.slice(0, at).some(other => isSame(item, other))))
    .at(0)
  if (second) throw new Fault(invalidSchema, `the file has ${kind.label(second, context)} twice`)
  const namesake = findNamesake(kind, items)
  if (namesake)
    throw new Fault(
      invalidSchema,
      `the file has another object with the name of ${kind.label(namesake, context)}`
    )
}

/** Returns the second of two objects on one client with the same name. Those on several clients may have the same name. */
const findNamesake = ({ nameKey }: DocumentKind, items: readonly DocumentItem[]): DocumentItem | undefined =>
  [
    ...Map.groupBy(
      items.filter(({ body }) => body['client'] != null),
      item => nameKey?.(item) ?? null
    )
  ]
    .flatMap(([name, [, other]]) => (name !== null && other ? [other] : []))
    .at(0)
