// Counts the entries of each actor, and finds actors with more than a fair share of the maximum.
import { setImmediate } from 'node:timers/promises'
import type { Kernel } from '../../kernel/plugin.ts'
import { Entry } from './entities.ts'

export type Actor = string | null

export interface EntryCounts {
  add(actor: Actor, by: number): void
  total(): number
  /** Recounts, one actor at a time: counting a million entries takes about 30 ms. */
  load(): Promise<void>
  /** Returns the surplus of each actor above its share, if all actors together may have `max` entries. */
  excess(max: number): readonly (readonly [Actor, number])[]
}

export function openEntryCounts({ store }: Pick<Kernel, 'store'>): EntryCounts {
  const counts = new Map<Actor, number>()

  const add = (actor: Actor, by: number): void => void counts.set(actor, (counts.get(actor) ?? 0) + by)

  return {
    add,
    total: (): number => counts.values().reduce((sum, count) => sum + count, 0),
    async load() {
      const known = await store.read(em => em.execute<{ actor: string }[]>(knownActors))
      counts.clear()
      for (const actor of [null, ...known.map(({ actor }) => actor)]) {
        add(actor, await store.read(em => em.count(Entry, { actor })))
        await setImmediate() // reads of the embedded store do not yield to the event loop
      }
    },
    excess(max) {
      const share = fairShare(counts.values(), max)
      return [...counts].flatMap(([actor, count]) => (count > share ? [[actor, count - share]] : []))
    }
  }
}

/** Returns the largest share per actor that keeps the total within `max`. */
function fairShare(counts: Iterable<number>, max: number): number {
  const ascending = [...counts].sort((a, b) => a - b)
  let left = max
  for (const [index, count] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index))
    if (count > share) return share
    left -= count
  }
  return max
}

/** Each step looks up the next actor in the index: reading all entries would take long. */
const knownActors = `with recursive known (actor) as (
    select min(actor) from audit_entry union all
    select (select min(actor) from audit_entry where actor > known.actor) from known where known.actor is not null)
  select actor from known where actor is not null`
