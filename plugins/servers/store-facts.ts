// Key-value rows of the store. Plain SQL, because commands use them in a store without its entities.
import type { EntityManager } from '@mikro-orm/sql'

/** Returns null if there is no such fact. */
export async function readFact(name: string, em: EntityManager): Promise<string | null> {
  const rows = await em.execute<{ value: string }[]>('select value from kernel_store_value where name = ?', [
    name
  ])
  return rows[0]?.value ?? null
}

/** Deletes the fact that identifies the PostgreSQL database. The next server then accepts the database that it finds. */
export const forgetCluster = (em: EntityManager): Promise<unknown> =>
  em.execute('delete from kernel_store_value where name = ?', ['cluster'], 'run')

export const writeFact = (name: string, value: string, em: EntityManager): Promise<unknown> =>
  em.execute(
    'insert into kernel_store_value (name, value) values (?, ?) on conflict (name) do update set value = excluded.value',
    [name, value],
    'run'
  )
