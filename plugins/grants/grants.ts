import type { EntityManager } from '@mikro-orm/sql'
import {
  clientNotFound,
  defineCode,
  Fault,
  invalidSchema,
  limitReached,
  userNotFound
} from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { PagedRows } from '../../kernel/http/list-route.ts'
import type { Call } from '../../kernel/http/route.ts'
import { Client, User } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import { requireClient } from '../rules/exports.ts'
import { covers } from './coverage.ts'
import { Grant } from './entities.ts'
import { rowsOf, shown } from './row.ts'
import { type CreateBody, type GrantRow, invalidPortRange } from './schema.ts'
import { formatTarget, parseTarget } from './targets.ts'

export const grantNotFound = defineCode('grant_not_found', 404, 8)

export interface Services extends Pick<Kernel, 'store' | 'clock'> {
  readonly rules: Rules
}
export type Grants = ReturnType<typeof openGrants>

type Change = Pick<Call, 'change'>

// Bounds the message that takes the lists of one user to an agent.
const maxTargetsPerUser = 500
const maxGrantsPerUser = 1000

/** Matches the rules that the grant may cover. A rule placed by a superadmin needs none. */
const coverableRules = ({ userId, clientId, protocols, portFrom, portTo }: Grant) => ({
  owner: userId,
  placedBySuperadmin: false,
  ...(clientId != null && { clientId }),
  protocol: { $in: [...protocols] },
  listenFrom: { $gte: portFrom },
  listenTo: { $lte: portTo }
})

export function openGrants({ store, clock, rules }: Services) {
  async function create(body: CreateBody, { change }: Change): Promise<GrantRow> {
    const given = parse(body)
    const id = newId(clock.now())
    const { row, after } = await change({ kind: 'grant', id }, async em => {
      if ((await em.count(User, { id: given.userId })) === 0)
        throw new Fault(userNotFound, `there is no user ${given.userId}`)
      const clientId = await clientIdOf(body, em)
      const grant: Grant = { ...given, id, clientId, createdAt: clock.now() }
      await requireRoom(grant, em)
      await em.insert(Grant, grant)
      return { row: await shown(grant, em), after: await rules.refresh(coverableRules(grant), em) }
    })
    after()
    return row
  }

  /** Also removes the rules that no other grant covers; the others may get a shorter target list. */
  async function remove(id: string, { change }: Change) {
    const { removed, refreshed } = await change({ kind: 'grant', id }, async em => {
      const grant = await em.findOne(Grant, { id })
      if (!grant) throw new Fault(grantNotFound, `there is no grant ${id}`)
      await em.nativeDelete(Grant, { id })
      const left = await em.find(Grant, { userId: grant.userId, id: { $ne: id } })
      const covered = await rules.matching(coverableRules(grant), em)
      const uncovered = covered.filter(rule => !left.some(other => covers(other, rule)))
      const removed = await rules.removeAll({ id: { $in: uncovered.map(({ id }) => id) } }, em, 'cut')
      return { removed, refreshed: await rules.refresh(coverableRules(grant), em) }
    })
    refreshed()
    removed.afterCommit()
    return { grant_id: id, removed_rule_ids: removed.ids }
  }

  const list = (where: { readonly userId?: string }): PagedRows<GrantRow> => ({
    async page(after, take, em) {
      const found = await em.find(
        Grant,
        { ...where, id: { $gt: after } },
        { orderBy: { id: 'asc' }, limit: take }
      )
      return (await rowsOf(found, em)).map(row => ({ key: row.grant_id, row }))
    }
  })

  const read = (id: string): Promise<GrantRow> =>
    store.read(async em => {
      const grant = await em.findOne(Grant, { id })
      if (!grant) throw new Fault(grantNotFound, `there is no grant ${id}`)
      return shown(grant, em)
    })

  return { create, remove, list, read }
}

/** At start: deletes grants of users and clients deleted while this plugin was disabled, also if the user exists anew. */
export async function sweep(em: EntityManager): Promise<void> {
  const users = new Map((await em.find(User, {})).map(({ id, createdAt }) => [id, createdAt]))
  const clients = new Set((await em.find(Client, {}, { fields: ['id'] })).map(({ id }) => id))
  const orphaned = (await em.find(Grant, {})).filter(
    ({ userId, clientId, createdAt }) =>
      (users.get(userId) ?? Number.POSITIVE_INFINITY) > createdAt ||
      (clientId != null && !clients.has(clientId))
  )
  for (const { id } of orphaned) await em.nativeDelete(Grant, { id })
}

async function requireRoom({ userId, targets }: Grant, em: EntityManager): Promise<void> {
  const others = await em.find(Grant, { userId }, { fields: ['targets'] })
  const entries = others.reduce((sum, other) => sum + (other.targets?.length ?? 0), targets?.length ?? 0)
  if (others.length >= maxGrantsPerUser)
    throw new Fault(limitReached, `${userId} has ${maxGrantsPerUser} grants already; delete one first`)
  if (entries > maxTargetsPerUser)
    throw new Fault(
      limitReached,
      `the target lists of ${userId} would have ${entries} entries; ${maxTargetsPerUser} are the most`
    )
}

function parse(body: CreateBody): Omit<Grant, 'id' | 'clientId' | 'createdAt'> {
  const { user_id: userId, listen_port_start: portFrom, listen_port_end: portTo, note = null } = body
  if (portFrom > portTo)
    throw new Fault(invalidPortRange, `/listen_port_end ${portTo} is below /listen_port_start ${portFrom}`, {
      details: { field: '/listen_port_end', reason: 'range' }
    })
  if ((body.client_id === undefined) === (body.client === undefined))
    throw new Fault(invalidSchema, 'give /client_id or /client, one of them', {
      details: { field: '/client_id', reason: 'oneOf' }
    })
  const given = new Set(body.protocols.map(protocol => protocol.toLowerCase()))
  const protocols = (['tcp', 'udp'] as const).filter(protocol => given.has(protocol))
  const spelled = body.targets?.map((target, at) => formatTarget(parseTarget(target, `/targets/${at}`)))
  return { userId, portFrom, portTo, protocols, targets: spelled ? [...new Set(spelled)] : null, note }
}

/** Returns null for every client. */
async function clientIdOf({ client_id: id, client }: CreateBody, em: EntityManager): Promise<string | null> {
  if (client !== undefined) return (await requireClient(client, em)).id
  if (id === undefined || id === '*') return null
  if ((await em.count(Client, { id })) > 0) return id
  throw new Fault(clientNotFound, `there is no client ${id}`)
}
