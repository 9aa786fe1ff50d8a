// Revocations that happened after the backup, repeated on the restored store. The lost store is attached as `old`.
// The tables of the kernel are listed here; plugins fill `revocationSlot` with theirs.
import type { EntityManager } from '@mikro-orm/sql'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Revocation } from '../../kernel/store/revocation.ts'

const isDeleted = (table: string): string =>
  `not exists (select 1 from old.${table} o where o.id = ${table}.id)`
const isNow = (table: string, condition: string): string =>
  `exists (select 1 from old.${table} o where o.id = ${table}.id and ${condition})`
const rankOf = (role: string): string =>
  `case ${role} when 'superadmin' then 3 when 'operator' then 2 when 'viewer' then 1 else 0 end`
const client = 'kernel_client'

const kernelRevocations: readonly Revocation[] = [
  {
    table: 'kernel_spent_token',
    sql: `insert into kernel_spent_token (hash, client_id, spent_at)
      select hash, client_id, spent_at from old.kernel_spent_token where true on conflict do nothing`
  },
  {
    table: client,
    sql: `insert into kernel_spent_token (hash, client_id, spent_at)
      select token_hash, id, cast(? as bigint) from kernel_client where token_hash is not null and ${isDeleted(client)}
      on conflict do nothing`
  },
  {
    table: client,
    title: 'revoked clients',
    sql: `update kernel_client set token_hash = null, revoked_at = ? where revoked_at is null
      and (${isDeleted(client)} or ${isNow(client, 'o.revoked_at is not null')}) returning name`
  },
  {
    table: client,
    title: 'clients with the token of a later enrollment',
    sql: `update kernel_client set revoked_at = null,
      token_hash = (select o.token_hash from old.kernel_client o where o.id = kernel_client.id)
      where ${isNow(client, 'o.token_hash is not null and o.token_hash is distinct from kernel_client.token_hash')}
      returning name`
  },
  {
    table: 'kernel_user',
    title: 'disabled users',
    sql: `update kernel_user set disabled = true where not disabled
      and (${isDeleted('kernel_user')} or ${isNow('kernel_user', 'o.disabled')}) returning id as name`
  },
  {
    table: 'kernel_user',
    title: 'demoted users',
    sql: `update kernel_user set role = (select o.role from old.kernel_user o where o.id = kernel_user.id)
      where ${isNow('kernel_user', `${rankOf('o.role')} < ${rankOf('kernel_user.role')}`)} returning id as name`
  },
  {
    table: 'kernel_credential',
    title: 'revoked credentials',
    sql: `update kernel_credential set revoked_at = ? where revoked_at is null
      and (${isDeleted('kernel_credential')} or ${isNow('kernel_credential', 'o.revoked_at is not null')})
      returning user_id || ' ' || label as name`
  },
  {
    table: 'kernel_credential',
    title: 'rotated credentials',
    sql: `update kernel_credential set
      token_hash = (select o.token_hash from old.kernel_credential o where o.id = kernel_credential.id)
      where ${isNow('kernel_credential', 'o.token_hash <> kernel_credential.token_hash')}
      returning user_id || ' ' || label as name`
  }
]

export interface RevokedAgain {
  readonly what: string
  readonly names: readonly string[]
}

/** Returns the revocations of tables that the restored store has. */
export async function revocationsIn(
  revocations: readonly Revocation[],
  em: EntityManager
): Promise<Revocation[]> {
  const own = await tablesOf('main', em)
  return revocations.filter(({ table }) => own.has(table))
}

interface Repeated {
  readonly revoked: readonly RevokedAgain[]
  readonly warnings: readonly string[]
}

/**
 * Repeats the revocations. Returns what was revoked, and the clients that the backup does not know. A failing revocation
 * of a plugin is a warning, one of the kernel an error.
 */
export async function revokeAgain(
  revocations: readonly Revocation[],
  now: number,
  em: EntityManager
): Promise<Repeated> {
  const both = (await tablesOf('main', em)).intersection(await tablesOf('old', em))
  const isDue = ({ isUnconditional, table }: Revocation): boolean => !isUnconditional && both.has(table)
  const revoked: RevokedAgain[] = []
  const warnings: string[] = []
  for (const revocation of kernelRevocations.filter(isDue))
    revoked.push(...(await repeat(revocation, now, em)))
  for (const revocation of revocations.filter(isDue))
    try {
      await em.execute('savepoint revocation', [], 'run')
      revoked.push(...(await repeat(revocation, now, em)))
    } catch (error) {
      await em.execute('rollback to revocation', [], 'run')
      const { title = 'revoked', table } = revocation
      warnings.push(`Not repeated: ${title} in the table ${table} (${reasonOf(error)}). Check them.`)
    } finally {
      await em.execute('release revocation', [], 'run')
    }
  const unknown = await em.execute<{ name: string }[]>(
    'select name from old.kernel_client o where not exists (select 1 from kernel_client c where c.id = o.id)'
  )
  return { revoked: [...revoked, ...revokedAgain('clients to be enrolled again', unknown)], warnings }
}

async function repeat({ sql, title }: Revocation, now: number, em: EntityManager): Promise<RevokedAgain[]> {
  const values = sql.includes('?') ? [now] : []
  const rows = await em.execute<{ name: string }[]>(sql, values, title ? 'all' : 'run')
  return title ? revokedAgain(title, rows) : []
}

const revokedAgain = (what: string, rows: readonly { readonly name: string }[]): RevokedAgain[] =>
  rows.length > 0 ? [{ what, names: rows.map(({ name }) => name) }] : []

async function tablesOf(schema: 'main' | 'old', em: EntityManager): Promise<Set<string>> {
  const found = await em.getPlatform().getSchemaHelper()?.getAllTables(em.getConnection(), [schema])
  return new Set(found?.map(({ table_name }) => table_name))
}
