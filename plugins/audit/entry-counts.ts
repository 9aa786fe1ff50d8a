// How many entries each actor has, and who has more than a fair share of a maximum.
import { setImmediate } from 'node:timers/promises'
import type { Kernel } from '../../kernel/plugin.ts'
import { Entry } from './entities.ts'

export type Actor = string | null

export function openEntryCounts({ store }: Pick<Kernel, 'store'>) {
  const counts = new Map<Actor, number>()

  const add = (actor: Actor, by: number): void => void counts.set(actor, (counts.get(actor) ?? 0) + by)

  return {
    add,
    total: (): number => counts.values().reduce((sum, count) => sum + count, 0),
    /** Counts anew, one actor at a time: counting a million entries takes about 30 ms. */
    async load(): Promise<void> {
      const known = await store.read(em => em.execute<{ actor: string }[]>(knownActors))
      counts.clear()
      for (const actor of [null, ...known.map(({ actor }) => actor)]) {
        add(actor, await store.read(em => em.count(Entry, { actor })))
        await setImmediate() // reads of the embedded store do not yield to the event loop
      }
    },
    /** Returns by how many entries actors exceed their share, when all together may have `max`. */
    excess(max: number): readonly (readonly [Actor, number])[] {
      const share = fairShare(counts.values(), max)
      return [...counts].flatMap(([actor, count]) => (count > share ? [[actor, count - share]] : []))
    }
  }
}

/** Returns the most entries that each may keep, so that all together keep at most `max`. */
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
