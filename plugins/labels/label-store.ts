// The labels of all records, in one table.
import type { EntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../kernel/base/clock.ts'
import { Client, User } from '../../kernel/identity/entities.ts'
import type { Rules } from '../rules/exports.ts'
import { type Kind, Label } from './entities.ts'
import type { Labels } from './labels.ts'

export async function load(
  kind: Kind,
  ids: readonly string[],
  em: EntityManager
): Promise<ReadonlyMap<string, Labels>> {
  const where = { kind, recordId: { $in: [...ids] } }
  const rows = await em.find(Label, where, { orderBy: { key: 'asc' } })
  const byRecord = Map.groupBy(rows, ({ recordId }) => recordId)
  return new Map(
    [...byRecord].map(([id, labels]) => [
      id,
      Object.fromEntries(labels.map(({ key, value }) => [key, value]))
    ])
  )
}

/** Replaces the stored labels. */
export async function save(
  kind: Kind,
  recordId: string,
  { labels, clock, em }: { labels: Labels; clock: Clock; em: EntityManager }
): Promise<void> {
  await remove(kind, [recordId], em)
  const setAt = clock.now()
  const rows = Object.entries(labels).map(([key, value]) => ({ kind, recordId, key, value, setAt }))
  if (rows.length > 0) await em.insertMany(Label, rows)
}

export async function remove(kind: Kind, ids: readonly string[], em: EntityManager): Promise<void> {
  await em.nativeDelete(Label, { kind, recordId: { $in: [...ids] } })
}

/**
 * Deletes the labels of clients, users and rules that were deleted while this plugin was disabled, even if a new user reuses
 * an id. Labels of deleted grants stay, because grant ids are never reused.
 */
export async function deleteOrphans(rules: Rules, em: EntityManager): Promise<void> {
  const labelled = async (kind: Kind): Promise<string[]> =>
    (await em.find(Label, { kind }, { fields: ['recordId'] })).map(({ recordId }) => recordId)
  const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
  const gone = (await labelled('client')).filter(id => !clients.has(id))
  await remove('client', gone, em)

  const ruleIds = await labelled('rule')
  const known = await rules.loadScopes(ruleIds, em)
  await remove(
    'rule',
    ruleIds.filter(id => !known.has(id)),
    em
  )

  const users = new Map((await em.find(User, {})).map(({ id, createdAt }) => [id, createdAt]))
  const userLabels = await em.find(Label, { kind: 'user' })
  const older = userLabels.filter(
    ({ recordId, setAt }) => (users.get(recordId) ?? Number.POSITIVE_INFINITY) > setAt
  )
  await remove(
    'user',
    older.map(({ recordId }) => recordId),
    em
  )
}
