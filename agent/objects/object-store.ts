import type { StateDatabase } from '../state/state-database.ts'

/** A managed object as it is on disk. */
export interface SavedObject {
  readonly kind: string
  readonly id: string
  readonly revision: number
  readonly bytes: Uint8Array
}

export type ObjectStore = ReturnType<typeof openObjectStore>

const schema = `
  create table if not exists held (
    kind text not null, id text not null, revision integer not null, bytes blob not null, primary key (kind, id)
  ) strict;
  create table if not exists held_generation (only integer primary key check (only = 1), name text not null) strict;
`

/** Opens the managed objects on disk. Every change is synced when the call returns. */
export function openObjectStore(db: StateDatabase) {
  db.exec(schema)
  const all = db.prepare<[], SavedObject>('select kind, id, revision, bytes from held order by kind, id')
  const put = db.prepare<[SavedObject]>('insert or replace into held values (@kind, @id, @revision, @bytes)')
  const remove = db.prepare<[string, string]>('delete from held where kind = ? and id = ?')
  const generation = db.prepare<[], { name: string }>('select name from held_generation')
  const rename = db.prepare<[string]>('insert or replace into held_generation values (1, ?)')
  const resetRevisions = db.prepare('update held set revision = 0')
  const clear = db.prepare('delete from held')

  return {
    generation: (): string => generation.get()?.name ?? '',
    all: (): SavedObject[] => all.all(),
    save: (...objects: readonly SavedObject[]): void => {
      if (objects.length === 0) return
      db.transaction(() => {
        for (const object of objects) put.run(object)
      })
    },
    remove: ({ kind, id }: Pick<SavedObject, 'kind' | 'id'>): void => void remove.run(kind, id),
    /** Sets the generation. Revisions of another one mean nothing in it: all become 0. */
    adopt: (name: string): void =>
      db.transaction(() => {
        resetRevisions.run()
        rename.run(name)
      }),
    clear: (): void => void clear.run()
  }
}
