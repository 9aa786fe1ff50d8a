import type { StateDatabase } from '../state/state-database.ts'

/** A managed object on disk. */
export interface SavedObject {
  readonly kind: string
  readonly id: string
  readonly revision: number
  readonly bytes: Uint8Array
}

/** The managed objects on disk. Every change is synced when the call returns. */
export interface ObjectStore {
  generation(): string
  all(): SavedObject[]
  /** Saves the objects with one sync. */
  save(...objects: readonly SavedObject[]): void
  remove(object: Pick<SavedObject, 'kind' | 'id'>): void
  /** Deletes the objects with one sync. */
  removeAll(objects: readonly Pick<SavedObject, 'kind' | 'id'>[]): void
  /** Sets the generation. Revisions of another generation mean nothing in it, so all become 0. */
  adopt(generation: string): void
  clear(): void
}

const tables = `
  create table if not exists managed_object (
    kind text not null, id text not null, revision integer not null, bytes blob not null, primary key (kind, id)
  ) strict;
  create table if not exists store_generation (
    only integer primary key check (only = 1), name text not null
  ) strict;
`

export function openObjectStore(db: StateDatabase): ObjectStore {
  db.exec(tables)
  const all = db.prepare<[], SavedObject>(
    'select kind, id, revision, bytes from managed_object order by kind, id'
  )
  const put = db.prepare<[SavedObject]>(
    'insert or replace into managed_object values (@kind, @id, @revision, @bytes)'
  )
  const remove = db.prepare<[string, string]>('delete from managed_object where kind = ? and id = ?')
  const generation = db.prepare<[], { name: string }>('select name from store_generation')
  const setGeneration = db.prepare<[string]>('insert or replace into store_generation values (1, ?)')
  const resetRevisions = db.prepare('update managed_object set revision = 0')
  const clear = db.prepare('delete from managed_object')

  return {
    generation: () => generation.get()?.name ?? '',
    all: () => all.all(),
    save(...objects) {
      if (objects.length === 0) return
      db.transaction(() => {
        for (const object of objects) put.run(object)
      })
    },
    remove: ({ kind, id }) => void remove.run(kind, id),
    removeAll(objects) {
      if (objects.length === 0) return
      db.transaction(() => {
        for (const { kind, id } of objects) remove.run(kind, id)
      })
    },
    adopt: name =>
      db.transaction(() => {
        resetRevisions.run()
        setGeneration.run(name)
      }),
    clear: () => void clear.run()
  }
}
