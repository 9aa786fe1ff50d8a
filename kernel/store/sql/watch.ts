// What a server does with a database that may become another one, or an earlier state of itself, under its connections.
import type { EntityManager } from '@mikro-orm/sql'

export interface Statement {
  readonly sql: string
  readonly values: readonly (string | number | boolean | null | readonly string[])[] // each for a `?`
}

export interface Watch {
  /**
   * Looks at the database before anything else is done there, as a change: at once, and on each new connection. `cluster`
   * names it; null: it does not tell. Returns what is done when the change is committed.
   */
  opened(cluster: string | null, em: EntityManager): Promise<() => void>
  /** Called at the end of a change that has revoked something, as a part of it. Returns what is done when it is committed. */
  revoked(statements: readonly Statement[], em: EntityManager): Promise<() => void>
}

/** The same of a connection, with its own transactions. */
export type WatchOf<T> = {
  readonly [K in keyof Watch]: (given: Parameters<Watch[K]>[0], transaction: T) => Promise<() => void>
}

/** Returns false, and does nothing, where the store is a file: nobody else can replace it while it is open. */
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
 * Notes what revokes again, with ids of rows, what this change has revoked: a server keeps it, and repeats it on a store that
 * has lost the change, as that of a standby that was behind. Nothing is noted where the store is a file.
 */
export function noteRevoked(em: EntityManager, sql: string, values: Statement['values']): void {
  const transaction: unknown = em.getTransactionContext()
  if (isNoting(transaction)) transaction.revoked.push({ sql, values })
}

const isNoting = (transaction: unknown): transaction is { readonly revoked: Statement[] } =>
  typeof transaction === 'object' && transaction !== null && 'revoked' in transaction
