import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { maxTargetMatches } from '../../agent/wire/target-match.ts'
import { timestamp } from '../../kernel/base/clock.ts'
import { clientNotFound, defineCode, Fault, limitReached, userNotFound } from '../../kernel/base/errors.ts'
import type { Call, FieldChange, Resource } from '../../kernel/http/route.ts'
import { Client, User } from '../../kernel/identity/entities.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { listFilterSlots, listFilters, type PagedRows, recordFields } from '../http/exports.ts'
import { type Rules, requireClient } from '../rules/exports.ts'
import { managedByProvider } from '../users/exports.ts'
import { coverableRules, uncoveredWithout } from './covered-rules.ts'
import { Grant } from './entities.ts'
import { type Grants, grantSourceSlot } from './exports.ts'
import { parseGrant } from './parse-grant.ts'
import { type CreateBody, fieldsIn, type GrantRow, type UpdateBody } from './schema.ts'
import { deleteGrants } from './user-grants.ts'

export const grantNotFound = defineCode('grant_not_found', 404, 8)
export const grantAlreadyExists = defineCode('grant_already_exists', 409, 2)

interface Services extends Pick<Kernel, 'store' | 'clock' | 'filled'> {
  readonly rules: Rules
}

/** The service with the methods that only the routes of this plugin use. */
export interface GrantsService extends Grants {
  list(where: { readonly userId?: string }, query: Values): PagedRows<GrantRow>
  /** Changes the note and the fields of other plugins. The permissions of a grant cannot change. */
  update(id: string, body: UpdateBody, call: Change): Promise<GrantRow>
}

type Change = Pick<Call, 'change'>
type Values = Readonly<Record<string, unknown>>

// Limits the size of a rule's message, which can contain the target lists of all grants of its owner.
const maxGrantsPerUser = 1000

export function openGrants({ store, clock, filled, rules }: Services): GrantsService {
  async function create(body: CreateBody, { change }: Change): Promise<GrantRow> {
    const given = parseGrant(body)
    const values = recordFields.parse(fieldsIn(filled), body)
    const id = newId(clock.now())
    const { row, after } = await change(created(id, given, filled), async em => {
      if ((await em.count(User, { id: given.userId })) === 0)
        throw new Fault(userNotFound, `there is no user ${given.userId}`)
      const clientId = await resolveClientId(body, em)
      await requireEntries(given, em)
      const grant: Grant = { ...given, id, clientId, source: null, createdAt: clock.now() }
      await requireNew(grant, em)
      requireRoom(grant, await em.find(Grant, { userId: grant.userId }, { fields: ['targets'] }))
      await em.insert(Grant, grant)
      await recordFields.save(fieldsIn(filled), id, { values, em })
      await rules.admissionChanged(placesOf(grant), em)
      const after = await rules.refresh(await coverableRules(grant, rules, em), em)
      return { row: await toRow(grant, filled, em), after }
    })
    after()
    return row
  }

  /** Deletes a grant and the rules that no other grant covers. Other rules can get a shorter target list. */
  async function remove(id: string, { change }: Change) {
    let changes: readonly FieldChange[] = []
    const resource = { ...resourceOf(id, filled), changes: () => changes }
    const { removed, refreshed } = await change(resource, async em => {
      const grant = await find(id, em)
      requireOwn(grant, filled)
      changes = lostTerms(grant)
      await deleteGrants({ id }, filled, em)
      await rules.admissionChanged(placesOf(grant), em)
      const left = await em.find(Grant, { userId: grant.userId })
      const uncovered = await uncoveredWithout(grant, left, rules, em)
      const removed = await rules.removeAll({ id: { $in: uncovered } }, em, 'cut')
      return { removed, refreshed: await rules.refresh(await coverableRules(grant, rules, em), em) }
    })
    refreshed()
    removed.afterCommit()
    return { grant_id: id, removed_rule_ids: removed.ids }
  }

  const update = (id: string, { note, ...fields }: UpdateBody, { change }: Change): Promise<GrantRow> =>
    change(resourceOf(id, filled), async em => {
      const before = await find(id, em)
      requireOwn(before, filled)
      const grant = { ...before, source: null, ...(note !== undefined && { note }) }
      if (note !== undefined || before.source != null) {
        await requireNew(grant, em)
        await em.nativeUpdate(Grant, { id }, { note: grant.note ?? null, source: null })
      }
      await recordFields.patch(fieldsIn(filled), id, { body: fields, em })
      return toRow(grant, filled, em)
    })

  return { ...openGrantReader({ store, filled }), create, update, remove }
}

function openGrantReader({
  store,
  filled
}: Pick<Services, 'store' | 'filled'>): Pick<GrantsService, 'list' | 'read' | 'ofUser'> {
  const list = (where: { readonly userId?: string }, query: Values): PagedRows<GrantRow> => ({
    async page(after, take, em) {
      const wanted = listFilters.where(filled(listFilterSlots.grant), query)
      const found = await em.find(
        Grant,
        { ...where, ...wanted, id: { $gt: after } },
        { orderBy: { id: 'asc' }, limit: take }
      )
      return (await toRows(found, filled, em)).map(row => ({ key: row.grant_id, row }))
    }
  })

  const read = (id: string): Promise<GrantRow> =>
    store.read(async em => toRow(await find(id, em), filled, em))

  const ofUser = async (userId: string, em: EntityManager): Promise<GrantRow[]> =>
    toRows(await em.find(Grant, { userId }, { orderBy: { id: 'asc' } }), filled, em)

  return { list, read, ofUser }
}

/** The version covers what can change: note and fields, and entries, which lose deleted clients. */
export const resourceOf = (id: string, filled: SlotReader): Resource => ({
  kind: 'grant',
  id,
  async version(em) {
    const grant = await em.findOne(Grant, { id })
    if (!grant) return null
    const fields = (await recordFields.load(fieldsIn(filled), [id], em))(id)
    return [id, grant.note, ...(grant.entries ? [grant.entries] : []), ...Object.values(fields)]
  }
})

export const created = (id: string, terms: AuditedTerms, filled: SlotReader): Resource => ({
  ...resourceOf(id, filled),
  changes: () => termChanges(terms)
})

type AuditedTerms = Pick<Grant, 'use' | 'entries'> & Partial<Pick<Grant, 'source'>>

/** Returns what the audit log shows of a new grant. */
const termChanges = ({ use, entries = null, source = null }: AuditedTerms): FieldChange[] => [
  { field: 'use', from: null, to: use },
  ...(entries === null ? [] : [{ field: 'entries', from: null, to: entries }]),
  ...(source === null ? [] : [{ field: 'source', from: null, to: source }])
]

/** Returns what the audit log shows of a deleted grant. */
export const lostTerms = (grant: AuditedTerms): FieldChange[] =>
  termChanges(grant).map(({ field, to }) => ({ field, from: to, to: null }))

/** An exit grant changes where rules can be on any client. */
export const placesOf = ({ userId, use, clientId = null }: Grant) => ({
  userId,
  clientId: use === 'exit' ? null : clientId
})

async function find(id: string, em: EntityManager): Promise<Grant> {
  const grant = await em.findOne(Grant, { id })
  if (!grant) throw new Fault(grantNotFound, `there is no grant ${id}`)
  return grant
}

/** Refuses to change a grant while its source is in use. */
function requireOwn({ id, source }: Grant, filled: SlotReader): void {
  if (source == null || !filled(grantSourceSlot).some(({ value: isUsed }) => isUsed(source))) return
  throw new Fault(managedByProvider, `grant ${id} comes from groups (${source}); change the groups there`)
}

/** Refuses an equal grant by hand: it would allow nothing more, and deleting one of the two would have no effect. */
async function requireNew(grant: Grant, em: EntityManager): Promise<void> {
  const { userId, clientId, use, portFrom, portTo } = grant
  const terms = ({ protocols, targets = null, entries = null, note = null }: Grant) => [
    protocols,
    targets,
    entries,
    note
  ]
  const others = await em.find(Grant, { userId, clientId, use, portFrom, portTo, source: null })
  const equal = others.find(other => other.id !== grant.id && isDeepStrictEqual(terms(other), terms(grant)))
  if (!equal) return
  const details = { grant_id: equal.id }
  throw new Fault(grantAlreadyExists, `${userId} already has this grant: ${equal.id}`, { details })
}

/** Throws `limit_reached` if the user cannot have the grant beside the others. */
export function requireRoom(
  { userId, targets }: Grant,
  others: readonly { readonly targets?: { readonly length: number } | null | undefined }[]
): void {
  const entries = others.reduce((sum, other) => sum + (other.targets?.length ?? 0), targets?.length ?? 0)
  if (others.length >= maxGrantsPerUser)
    throw new Fault(limitReached, `${userId} already has ${maxGrantsPerUser} grants; delete one first`)
  if (entries > maxTargetMatches)
    throw new Fault(
      limitReached,
      `the target lists of ${userId} would have ${entries} entries; at most ${maxTargetMatches} are allowed`
    )
}

/** Returns null for every client. */
export async function resolveClientId(
  { client_id: id, client }: Pick<CreateBody, 'client_id' | 'client'>,
  em: EntityManager
): Promise<string | null> {
  if (client !== undefined) return (await requireClient(client, em)).id
  if (id === undefined || id === '*') return null
  if ((await em.count(Client, { id })) > 0) return id
  throw new Fault(clientNotFound, `there is no client ${id}`)
}

export async function requireEntries({ entries }: Pick<Grant, 'entries'>, em: EntityManager): Promise<void> {
  if (entries == null) return
  const found = await em.find(Client, { id: { $in: [...entries] } }, { fields: ['id'] })
  const known = new Set(found.map(({ id }) => id))
  const unknown = entries.find(id => !known.has(id))
  if (unknown === undefined) return
  throw new Fault(clientNotFound, `/entries: there is no client ${unknown}`, {
    details: { field: '/entries' }
  })
}

async function toRow(grant: Grant, filled: SlotReader, em: EntityManager): Promise<GrantRow> {
  const [row] = await toRows([grant], filled, em)
  if (!row) throw new TypeError(`grant ${grant.id} has no row`)
  return row
}

async function toRows(grants: readonly Grant[], filled: SlotReader, em: EntityManager): Promise<GrantRow[]> {
  const fields = await recordFields.load(
    fieldsIn(filled),
    grants.map(({ id }) => id),
    em
  )
  const ids = [...new Set(grants.flatMap(({ clientId }) => clientId ?? []))]
  const clients = await em.find(Client, { id: { $in: ids } }, { fields: ['name'] })
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  return grants.map(({ id, userId, clientId, ...grant }) => ({
    grant_id: id,
    user_id: userId,
    client_id: clientId ?? '*',
    client_name: names.get(clientId ?? '') ?? null,
    use: grant.use,
    listen_port_start: grant.use === 'exit' ? null : grant.portFrom,
    listen_port_end: grant.use === 'exit' ? null : grant.portTo,
    protocols: [...grant.protocols],
    targets: grant.targets ? [...grant.targets] : null,
    entries: grant.entries ? [...grant.entries] : null,
    note: grant.note ?? null,
    source: grant.source ?? null,
    created_at: timestamp(grant.createdAt),
    ...fields(id)
  }))
}
