// Loads the bodies of pushes. Requests of several outboxes in one turn are one batch, if the kind allows it.
import type { ManagedObject, ObjectKind } from '../../../kernel/control/managed-objects.ts'
import type { Kernel } from '../../../kernel/plugin.ts'

type Rows = readonly ManagedObject[] // of one client and kind
type ById = ReadonlyMap<string, unknown>
export type BodyLoader = (kind: ObjectKind, rows: Rows) => Promise<ById>

interface PendingRead {
  readonly rows: Rows
  readonly done: PromiseWithResolvers<ById>
}

export function openBodyLoader({ store }: Pick<Kernel, 'store'>): BodyLoader {
  const asked = new Map<ObjectKind, PendingRead[]>()
  const load = (kind: ObjectKind, rows: Rows): Promise<ById> => store.read(em => kind.load(rows, em))

  async function loadTogether(kind: ObjectKind): Promise<void> {
    const all = asked.get(kind) ?? []
    asked.delete(kind)
    try {
      const bodies = await load(
        kind,
        all.flatMap(({ rows }) => rows)
      )
      for (const { done } of all) done.resolve(bodies)
    } catch {
      for (const { rows, done } of all) done.resolve(load(kind, rows)) // one that fails then affects only its client
    }
  }

  return (kind, rows) => {
    if (!kind.isLoadedTogether) return load(kind, rows)
    const done = Promise.withResolvers<ById>()
    const others = asked.get(kind)
    if (others) others.push({ rows, done })
    else {
      asked.set(kind, [{ rows, done }])
      process.nextTick(() => void loadTogether(kind)) // after everything that continues with the rows of one statement
    }
    return done.promise
  }
}
