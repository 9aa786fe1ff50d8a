// What has to be done so that the server is as the file says. Made from what is there, so that a second run of one that
// was killed does the rest.
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import { changesOf } from './changes.ts'
import type { Document } from './document.ts'
import { type Item, isSame, type Kind, kinds, labelOf, type World } from './kinds.ts'

export interface Step {
  readonly verb: 'create' | 'change' | 'replace' | 'delete'
  readonly label: string
  readonly changes: readonly string[] // of what is there: from which value to which
  readonly drops: number // live connections that end with it
  run(): Promise<void>
}

/** `prune`: what the file leaves out goes, of the kinds that it has. */
export async function makePlan(document: Document, prune: 'prune' | 'keep', world: World): Promise<Step[]> {
  const made: Step[] = []
  const removed: Step[] = []
  for (const kind of kinds) {
    const entries = document[kind.name]
    if (!entries) continue
    const wanted = entries.map(entry => kind.wanted(entry, world))
    refuseTwins(kind, wanted, world)
    const present = await kind.present(world)
    for (const item of wanted) made.push(...(await stepsFor(kind, item, present, world)))
    if (prune === 'prune')
      for (const item of present.filter(({ key }) => !wanted.some(other => other.key === key)))
        removed.unshift(await removal(kind, item, world))
  }
  return [...made, ...removed]
}

async function stepsFor(kind: Kind, wanted: Item, present: readonly Item[], world: World): Promise<Step[]> {
  const from = present.find(({ key }) => key === wanted.key)
  const label = labelOf(kind, wanted, world)
  if (!from) return [{ verb: 'create', label, changes: [], drops: 0, run: () => kind.create(wanted, world) }]
  const to = filled(wanted, from)
  if (isSame(from, to)) return []
  const changes = changesOf(from.body, to.body)
  if (kind.canChange(from, to, world))
    return [{ verb: 'change', label, changes, drops: 0, run: () => kind.change(from, to, world) }]
  const run = async (): Promise<void> => {
    if (kind.replacing === 'remove first') await kind.remove(from, world)
    await kind.create(to, world)
    if (kind.replacing === 'create first') await kind.remove(from, world)
  }
  return [{ verb: 'replace', label, changes, drops: await liveOn(kind, from, world), run }]
}

async function removal(kind: Kind, item: Item, world: World): Promise<Step> {
  return {
    verb: 'delete',
    label: labelOf(kind, item, world),
    changes: [],
    drops: await liveOn(kind, item, world),
    run: () => kind.remove(item, world)
  }
}

/** An anchor of a quota that the file does not give stays as it is. */
const filled = (wanted: Item, { body }: Item): Item =>
  'billing_anchor' in wanted.body && wanted.body['billing_anchor'] === undefined
    ? { ...wanted, body: { ...wanted.body, billing_anchor: body['billing_anchor'] } }
    : wanted

async function liveOn({ name }: Kind, { id }: Item, { api }: World): Promise<number> {
  if (name !== 'rules') return 0
  const stats = await api.get<{ active_connections: number; active_flows: number }>(`/v1/rules/${id}/stats`)
  return stats.active_connections + stats.active_flows
}

function refuseTwins(kind: Kind, items: readonly Item[], world: World): void {
  const twin = items.find(({ key }, at) => items.findIndex(other => other.key === key) < at)
  if (twin) throw new Fault(invalidSchema, `the file has ${labelOf(kind, twin, world)} twice`)
}
