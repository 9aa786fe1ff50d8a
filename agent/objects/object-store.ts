import type { StateDatabase } from '../state/database.ts'

/** A managed object as it is on disk. */
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
  save(object: SavedObject): void
  remove(kind: string, id: string): void
  /** Sets the generation. Revisions of another one mean nothing in it: all become 0. */
  adopt(generation: string): void
  clear(): void
}

const schema = `
  create table if not exists held (
    kind text not null, id text not null, revision integer not null, bytes blob not null, primary key (kind, id)
  ) strict;
  create table if not exists held_generation (only integer primary key check (only = 1), name text not null) strict;
`

export function openObjectStore(db: StateDatabase): ObjectStore {
  db.exec(schema)
  const all = db.prepare<[], SavedObject>('select kind, id, revision, bytes from held order by kind, id')
  const put = db.prepare<SavedObject>('insert or replace into held values (@kind, @id, @revision, @bytes)')
  const remove = db.prepare<[string, string]>('delete from held where kind = ? and id = ?')
  const generation = db.prepare<[], string>('select name from held_generation').pluck()
  const rename = db.prepare<[string]>('insert or replace into held_generation values (1, ?)')
  const resetRevisions = db.prepare('update held set revision = 0')
  const clear = db.prepare('delete from held')

  return {
    generation: () => generation.get() ?? '',
    // Not Buffers: an object that was pushed and the same one read from disk compare as equal.
    all: () => all.all().map(object => ({ ...object, bytes: Uint8Array.from(object.bytes) })),
    save: object => void put.run(object),
    remove: (kind, id) => void remove.run(kind, id),
    adopt: db.transaction((name: string) => {
      resetRevisions.run()
      rename.run(name)
    }),
    clear: () => void clear.run()
  }
}
