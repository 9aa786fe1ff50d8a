// The rules of the store as a graph. Each step uses indexes, so its cost does not grow with the rules of the fleet.

import type { EntityManager } from '@mikro-orm/sql'
import { isLoopback } from '../../kernel/platform/network.ts'
import { type ListeningRule, lookUpBounds, type RuleGraph } from './circle.ts'
import { parseStored } from './parse-stored.ts'

interface Row extends Omit<ListeningRule, 'targets' | 'name' | 'isFallback'> {
  // JSON, which PostgreSQL parses
  readonly targets: string | ListeningRule['targets']
  readonly fields: string | readonly string[]
}

const columns = `id, coalesce(parent, id) as "shownId", client_id as "clientId", owner, protocol,
  listen_from as "from", listen_to as "to", targets, fields`

/** Clients that have the address, and clients with the same observed address, which may run on the same host. */
const hosts = (matched: string): string => `with matched as (
    select id, remote_addr from kernel_client where revoked_at is null and ${matched}
  ), host as (
    select id from matched union
    select other.id from matched join kernel_client other on other.remote_addr = matched.remote_addr
    where other.revoked_at is null limit ${lookUpBounds.maxClients}
  )`

const ofHost = 'select id from rules where client_id in (select id from host) and protocol = ?'

export const storedGraph = (em: EntityManager): RuleGraph => ({
  async listening({ clientId, protocol }, host, { from, to }) {
    const isOwn = isLoopback(host)
    const rows = await em.execute<Row[]>(
      `${hosts(isOwn ? 'id = ?' : '(address = ? or remote_addr = ?)')}
       select ${columns} from rules where state = 'active' and id in (
         ${ofHost} and listen_from between ? and ?
         union ${ofHost} and listen_to > listen_from and listen_to >= ? and listen_from < ?)
       order by id limit ${lookUpBounds.maxRules}`,
      [...(isOwn ? [clientId] : [host, host]), protocol, from, to, protocol, from, from]
    )
    return withNames(rows, em)
  }
})

/** Returns the active rule with this id, or null. */
export const findActive = async (id: string, em: EntityManager): Promise<ListeningRule | null> =>
  (await select('id = ?', [id], em))[0] ?? null

const maxMembers = 8 // they have the same targets

/** Returns active members of a group rule: the one on a client, or some. */
export const findActiveMembers = (
  parent: string,
  clientId: string | null,
  em: EntityManager
): Promise<readonly ListeningRule[]> =>
  clientId === null
    ? select('parent = ?', [parent], em)
    : select('parent = ? and client_id = ?', [parent, clientId], em)

async function select(
  where: string,
  values: readonly string[],
  em: EntityManager
): Promise<readonly ListeningRule[]> {
  const rows = await em.execute<Row[]>(
    `select ${columns} from rules where state = 'active' and client_id <> '' and ${where} order by id limit ${maxMembers}`,
    [...values]
  )
  return withNames(rows, em)
}

async function withNames(rows: readonly Row[], em: EntityManager): Promise<readonly ListeningRule[]> {
  const ids = rows.flatMap(({ id, fields }) => (parseStored(fields).some(isNameField) ? [id] : []))
  const values = ids.length === 0 ? [] : await nameFieldsOf(ids, em)
  const patterns = new Map(
    values.filter(({ key }) => key === patternKey).map(({ id, value }) => [id, String(value)])
  )
  const fallbacks = new Set(
    values.flatMap(({ id, key, value }) => (key === fallbackKey && value === true ? [id] : []))
  )
  return rows.map(({ targets, fields: _, ...rule }) => ({
    ...rule,
    targets: parseStored(targets),
    name: patterns.get(rule.id) ?? null,
    isFallback: fallbacks.has(rule.id)
  }))
}

/** Fields of the plugin `sni`, which may be disabled: its rules then do not listen. */
const patternKey = 'sni_pattern'
const fallbackKey = 'sni_fallback'
const isNameField = (key: string): boolean => key === patternKey || key === fallbackKey

async function nameFieldsOf(ids: readonly string[], em: EntityManager) {
  const rows = await em.execute<{ id: string; key: string; value: unknown }[]>(
    `select rule_id as id, key, value from rules_field_value
     where key in ('${patternKey}', '${fallbackKey}') and rule_id in (${ids.map(() => '?')})`,
    [...ids]
  )
  return rows.map(({ value, ...row }) => ({ ...row, value: parseStored<unknown>(value) }))
}
