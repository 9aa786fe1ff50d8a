// What was taken away after the backup was made, taken away again: the old store lies attached as `old`.
// A restored store is a file before any plugin wakes up in it: so this is SQL, and names tables of plugins.
import type { EntityManager } from '@mikro-orm/sql'

interface Revocation {
  readonly table: string
  readonly says?: string // before the names of what was taken away
  readonly sql: string // `?` is now, ms; returns `name`
}

const isGone = (table: string): string => `not exists (select 1 from old.${table} o where o.id = ${table}.id)`
const isSo = (table: string, condition: string): string =>
  `exists (select 1 from old.${table} o where o.id = ${table}.id and ${condition})`
const client = 'kernel_client'

const revocations: readonly Revocation[] = [
  {
    table: 'kernel_spent_token',
    sql: `insert or ignore into kernel_spent_token (hash, client_id, spent_at)
      select hash, client_id, spent_at from old.kernel_spent_token`
  },
  {
    table: client,
    sql: `insert or ignore into kernel_spent_token (hash, client_id, spent_at)
      select token_hash, id, ? from kernel_client where token_hash is not null and ${isGone(client)}`
  },
  {
    table: client,
    says: 'revoked clients',
    sql: `update kernel_client set token_hash = null, revoked_at = ? where revoked_at is null
      and (${isGone(client)} or ${isSo(client, 'o.revoked_at is not null')}) returning name`
  },
  {
    table: client,
    says: 'clients with the token of a later enrollment',
    sql: `update kernel_client set revoked_at = null,
      token_hash = (select o.token_hash from old.kernel_client o where o.id = kernel_client.id)
      where ${isSo(client, 'o.token_hash is not null and o.token_hash is not kernel_client.token_hash')}
      returning name`
  },
  {
    table: 'kernel_user',
    says: 'disabled users',
    sql: `update kernel_user set disabled = 1 where disabled = 0
      and (${isGone('kernel_user')} or ${isSo('kernel_user', 'o.disabled = 1')}) returning id as name`
  },
  {
    table: 'kernel_user',
    says: 'users who are superadmins no more',
    sql: `update kernel_user set role = 'user' where role = 'superadmin'
      and ${isSo('kernel_user', "o.role = 'user'")} returning id as name`
  },
  {
    table: 'kernel_credential',
    says: 'revoked credentials',
    sql: `update kernel_credential set revoked_at = ? where revoked_at is null
      and (${isGone('kernel_credential')} or ${isSo('kernel_credential', 'o.revoked_at is not null')})
      returning user_id || ' ' || label as name`
  },
  {
    table: 'kernel_credential',
    says: 'rotated credentials',
    sql: `update kernel_credential set
      token_hash = (select o.token_hash from old.kernel_credential o where o.id = kernel_credential.id)
      where ${isSo('kernel_credential', 'o.token_hash <> kernel_credential.token_hash')}
      returning user_id || ' ' || label as name`
  },
  {
    table: 'auth_password',
    says: 'changed passwords of',
    sql: `update auth_password set (hash, change_required, changed_at, expires_at) =
      (select hash, change_required, changed_at, expires_at from old.auth_password o
       where o.user_id = auth_password.user_id)
      where exists (select 1 from old.auth_password o
        where o.user_id = auth_password.user_id and o.hash <> auth_password.hash)
      returning user_id as name`
  },
  {
    table: 'grants',
    says: 'deleted grants of',
    sql: `delete from grants where ${isGone('grants')} returning user_id as name`
  }
]

/** Nobody can say whether these were ended, or used, after the backup: they go in any case. */
const uncertain: readonly Revocation[] = [
  { table: 'auth_session', sql: 'delete from auth_session' },
  { table: 'enrollment', sql: 'delete from enrollment where used_at is null' }
]

export interface Said {
  readonly what: string
  readonly names: readonly string[]
}

export async function endUncertain(em: EntityManager): Promise<void> {
  for (const { table, sql } of uncertain) if (await has('main', table, em)) await em.execute(sql)
}

export async function revokeAgain(em: EntityManager, now: number): Promise<Said[]> {
  const said: Said[] = []
  for (const { table, says, sql } of revocations) {
    if (!((await has('main', table, em)) && (await has('old', table, em)))) continue
    const rows = await em.execute<{ name: string }[]>(
      sql,
      sql.includes('?') ? [now] : [],
      says ? 'all' : 'run'
    )
    if (says && rows.length > 0) said.push({ what: says, names: rows.map(({ name }) => name) })
  }
  const strangers = await em.execute<{ name: string }[]>(
    'select name from old.kernel_client o where not exists (select 1 from main.kernel_client c where c.id = o.id)'
  )
  if (strangers.length > 0)
    said.push({ what: 'clients to be enrolled again', names: strangers.map(({ name }) => name) })
  return said
}

async function has(schema: 'main' | 'old', table: string, em: EntityManager): Promise<boolean> {
  const rows = await em.execute(`select 1 from ${schema}.sqlite_master where type = 'table' and name = ?`, [
    table
  ])
  return rows.length > 0
}
