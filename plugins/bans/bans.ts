// Bans by operators, and those that agents report. Agents store bans in force and, so that a repeated ban lasts longer,
// those that ended within a day.
import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, defineCode, Fault, limitReached } from '../../kernel/base/errors.ts'
import { requireCapability } from '../../kernel/control/peers.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Clients } from '../clients/exports.ts'
import { normalizePrefix, ruleNotFound } from '../rules/exports.ts'
import { type BanReader, openBanReader, type Services as ReaderServices } from './ban-reader.ts'
import {
  type BanCleanup,
  openBanCleanup,
  openBanInsert,
  openBanReports,
  type ReportBans
} from './ban-store.ts'
import { Ban } from './entities.ts'
import { invalidBan } from './field.ts'
import { toObjectKey } from './object-kind.ts'
import type { BanBody, BanRecord } from './schema.ts'
import { capability, maxOperatorBans } from './wire.ts'

export const banNotFound = defineCode('ban_not_found', 404, 8)
export const bansUnsupported = defineCode('bans_unsupported_by_client', 422, 3)

export interface Services extends ReaderServices {
  readonly clients: Clients
}

type OperatorCall = Pick<Call, 'change' | 'principal'>

/** Creates, lists and lifts bans, and stores those that agents report. */
export interface Bans extends BanReader, BanCleanup {
  /** Bans a source in every scope that the body names, or in none if one refuses. */
  create(body: BanBody, call: OperatorCall): Promise<BanRecord[]>
  /** Lifts a ban in force. Throws `ban_not_found`. */
  lift(banId: string, call: OperatorCall): Promise<void>
  /** Stores bans that an agent made. Idempotent: skips bans that are already stored. */
  report: ReportBans
}

type Scope = Pick<Ban, 'clientId' | 'ruleId'>

export function openBans(deps: Services): Bans {
  const { store, clock, control } = deps
  const reader = openBanReader(deps)
  const insert = openBanInsert(deps)
  const findScopes = openScopes(deps)

  async function create(body: BanBody, { change, principal }: OperatorCall): Promise<BanRecord[]> {
    const source = parseSource(body.source)
    const { for_secs = 3600, reason = null, live = 'cut' } = body
    const { created, deliveries } = await change({ kind: 'ban', id: source }, async em => {
      const now = clock.now()
      const scopes = await findScopes(body, em)
      await requireRoom(scopes, em)
      const created = scopes.map(
        (scope): Ban => ({
          id: newId(now),
          ...scope,
          owner: '',
          source,
          cause: 'operator',
          live,
          times: 1,
          reason,
          madeBy: principal.userId,
          fromMs: now,
          untilMs: now + for_secs * 1000,
          liftedAt: null,
          liftedBy: null,
          isSent: true
        })
      )
      await insert(created, em)
      return { created, deliveries: await control.objects.deliverAll(em, created.map(toObjectKey), 'push') }
    })
    await Promise.all(deliveries.map(delivery => delivery.answered()))
    return store.read(em => reader.records(created, em))
  }

  async function lift(banId: string, { change, principal }: OperatorCall): Promise<void> {
    const delivery = await change(resourceOf(banId), async em => {
      const found = await em.findOne(Ban, { id: banId })
      const now = clock.now()
      if (!found || found.liftedAt != null || found.untilMs <= now)
        throw new Fault(banNotFound, `no ban ${banId} is in force`)
      await em.nativeUpdate(Ban, { id: banId }, { liftedAt: now, liftedBy: principal.userId, isSent: false })
      await control.objects.drop(em, toObjectKey(found), 'cut')
      return control.objects.deliver(em, toObjectKey(found), 'remove')
    })
    await delivery.answered()
  }

  return { ...reader, ...openBanCleanup(deps), report: openBanReports(deps), create, lift }
}

/** Throws `limit_reached` if a client would get more bans of operators than its bound. Bans that rules cause do not count. */
async function requireRoom(scopes: readonly Scope[], em: EntityManager): Promise<void> {
  const where = { cause: 'operator' as const, isSent: true }
  const ofScopes = Map.groupBy(scopes, ({ clientId }) => clientId)
  const counts = await em.countBy(Ban, 'clientId', {
    where: { ...where, clientId: { $in: [...ofScopes.keys()] } }
  })
  for (const [clientId, { length }] of ofScopes)
    if ((counts[clientId] ?? 0) + length > maxOperatorBans)
      throw new Fault(
        limitReached,
        `client ${clientId} has ${maxOperatorBans} bans of operators; lift one, or wait until a day after one ends`,
        { details: { limit: maxOperatorBans } }
      )
}

/** Returns a function that finds the scopes of a ban. It throws if an agent lacks the capability. */
const openScopes =
  ({ clients, rules }: Services) =>
  async ({ client, rule_id }: BanBody, em: EntityManager): Promise<Scope[]> => {
    const members = rule_id === undefined ? null : await rules.listMembers(rule_id, em)
    if (members?.length === 0) throw new Fault(ruleNotFound, `there is no rule ${rule_id}`)
    const asked = client === undefined ? null : await clients.get(client, em)
    const scopes = members
      ? members.map(({ id, clientId }) => ({ clientId, ruleId: id }))
      : (asked ? [asked] : await em.find(Client, {})).map(({ id }) => ({ clientId: id, ruleId: '' }))
    const found = asked ? scopes.filter(({ clientId }) => clientId === asked.id) : scopes
    if (found.length === 0 && rule_id === undefined)
      throw new Fault(
        clientNotFound,
        'no client is enrolled: enroll one with `sluice client enroll`, then ban the source'
      )
    if (found.length === 0) throw new Fault(ruleNotFound, `rule ${rule_id} is not on client ${client}`)
    for (const { clientId } of found)
      requireCapability(await clients.get(clientId, em), capability, bansUnsupported)
    return found
  }

/** Throws `validation.ban` for text that is not a prefix, or a prefix that covers everybody. */
function parseSource(text: string): string {
  const source = normalizePrefix(text)
  const details = { field: '/source', reason: 'prefix' }
  if (source === null)
    throw new Fault(invalidBan, `/source ${text} is neither an address nor a prefix such as 192.0.2.0/24`, {
      details
    })
  if (source.endsWith('/0'))
    throw new Fault(invalidBan, `/source ${source} covers everybody; pause the rule instead`, { details })
  return source
}

const resourceOf = (id: string): Resource => ({
  kind: 'ban',
  id,
  async version(em) {
    const found = await em.findOne(Ban, { id })
    return found && [found.untilMs, found.liftedAt ?? 0]
  }
})
