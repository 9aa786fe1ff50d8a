// The steps that bring the server into the state of a document. They are computed from the present state, so that a run
// after an interrupted one does the rest.
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import { type DocumentContext, type DocumentItem, type DocumentKind, hasSameBody } from '../rules/exports.ts'
import { changesOf } from './changes.ts'
import { kindsIn } from './context.ts'
import type { Document } from './document.ts'

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
    const wanted = entries.map(entry => kind.parse(entry, context))
    refuseDuplicates(kind, wanted, context)
    const present = await kind.list(context)
    for (const item of wanted) steps.push(...(await stepsFor(kind, item, present, context)))
    if (prune === 'prune')
      for (const item of present.filter(({ key }) => !wanted.some(other => other.key === key)))
        deletions.unshift(await deletion(kind, item, context))
  }
  return [...steps, ...deletions]
}

async function stepsFor(
  kind: DocumentKind,
  wanted: DocumentItem,
  present: readonly DocumentItem[],
  context: DocumentContext
): Promise<Step[]> {
  const from = present.find(({ key }) => key === wanted.key)
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
