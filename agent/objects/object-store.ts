import type { AgentObject } from '../plugin.ts'
import type { StateDatabase } from '../state/database.ts'

/** The held objects on disk; what returns has been synced. */
export interface ObjectStore {
  generation(): string
  all(): AgentObject[]
  save(object: AgentObject): void
  remove(kind: string, id: string): void
  /** Revisions of another generation say nothing in this one: all become 0. */
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
  const all = db.prepare<[], AgentObject>('select kind, id, revision, bytes from held order by kind, id')
  const put = db.prepare<AgentObject>('insert or replace into held values (@kind, @id, @revision, @bytes)')
  const remove = db.prepare<[string, string]>('delete from held where kind = ? and id = ?')
  const generation = db.prepare<[], string>('select name from held_generation').pluck()
  const rename = db.prepare<[string]>('insert or replace into held_generation values (1, ?)')
  const forgetRevisions = db.prepare('update held set revision = 0')
  const clear = db.prepare('delete from held')

  return {
    generation: () => generation.get() ?? '',
    all: () => all.all(),
    save: object => void put.run(object),
    remove: (kind, id) => void remove.run(kind, id),
    adopt: db.transaction((name: string) => {
      forgetRevisions.run()
      rename.run(name)
    }),
    clear: () => void clear.run()
  }
}
