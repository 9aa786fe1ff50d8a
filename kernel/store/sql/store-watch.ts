// Handles a database that is replaced, or reset to an earlier state, under its connections.
import type { EntityManager } from '@mikro-orm/sql'

export interface Statement {
  readonly sql: string
  readonly values: readonly (string | number | boolean | null | readonly string[])[] // one per `?`
}

export interface Watch {
  /**
   * Checks the database in a change, now and on each new connection before anything else. `cluster` identifies the database,
   * if known. Returns a function to call after the commit.
   */
  opened(cluster: string | null, em: EntityManager): Promise<() => void>
  /** Called within a change that has revoked something, at its end. Returns a function to call after the commit. */
  revoked(statements: readonly Statement[], em: EntityManager): Promise<() => void>
}

/** The same for a connection and its transactions. */
export type WatchOf<T> = {
  readonly [K in keyof Watch]: (given: Parameters<Watch[K]>[0], transaction: T) => Promise<() => void>
}

/** Does nothing and returns false for SQLite: an open file cannot be replaced. */
export async function watchStore(em: EntityManager, { opened, revoked }: Watch): Promise<boolean> {
  const connection: object = em.getConnection()
  if (!isWatched(connection)) return false
  const within = (transaction: unknown): EntityManager => {
    const own = em.fork()
    own.setTransactionContext(transaction)
    return own
  }
  await connection.watch({
    opened: (cluster, transaction) => opened(cluster, within(transaction)),
    revoked: (statements, transaction) => revoked(statements, within(transaction))
  })
  return true
}

const isWatched = (connection: object): connection is { watch(watch: WatchOf<unknown>): Promise<void> } =>
  'watch' in connection

/**
 * Records SQL that repeats a revocation of this change. The server runs it on a store that has lost the change, such as a
 * standby that was behind. Does nothing for SQLite.
 */
export function noteRevoked(em: EntityManager, sql: string, values: Statement['values']): void {
  const transaction: unknown = em.getTransactionContext()
  if (isNoting(transaction)) transaction.revoked.push({ sql, values })
}

const isNoting = (transaction: unknown): transaction is { readonly revoked: Statement[] } =>
  typeof transaction === 'object' && transaction !== null && 'revoked' in transaction
