// Bans: made by an operator here, or by agents, which report them. Agents have those that hold, and those that ended
// within a day, by which the next ban of a source grows.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault, limitReached } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import { requireCapability } from '../../kernel/control/peers.ts'
import type { Call, Resource } from '../../kernel/http/route.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Clients } from '../clients/exports.ts'
import { normalizePrefix, ruleNotFound } from '../rules/exports.ts'
import { openBanReader, type Services as ReadingServices } from './ban-reader.ts'
import { countBans, openBanCleanup, openBanInsert, openBanReports } from './ban-store.ts'
import { Ban } from './entities.ts'
import { invalidBan } from './field.ts'
import { toObjectKey } from './object-kind.ts'
import type { BanBody, BanRecord } from './schema.ts'
import { capability, maxBans } from './wire.ts'

export const banNotFound = defineCode('ban_not_found', 404, 8)
export const bansUnsupported = defineCode('bans_unsupported_by_client', 422, 3)

export interface Services extends ReadingServices {
  readonly clients: Clients
}
export type Bans = ReturnType<typeof openBans>

type Scope = Pick<Ban, 'clientId' | 'ruleId'>

export function openBans(deps: Services) {
  const { store, clock, control } = deps
  const reading = openBanReader(deps)
  const insert = openBanInsert(deps)
  const findScopes = openScopes(deps)

  /** Bans a source on each place that the body names: all of them, or none. */
  async function create(
    body: BanBody,
    { change, principal }: Pick<Call, 'change' | 'principal'>
  ): Promise<BanRecord[]> {
    const source = parseSource(body.source)
    const { for_secs = 3600, reason = null, live = 'cut' } = body
    const bans = await change({ kind: 'ban', id: source }, async em => {
      const now = clock.now()
      const made: Ban[] = []
      for (const place of await findScopes(body, em)) {
        if ((await countBans(place.clientId, em)) >= maxBans)
          throw new Fault(
            limitReached,
            `client ${place.clientId} has ${maxBans} bans; lift some, or wait until a day after they end`,
            {
              details: { limit: maxBans }
            }
          )
        const ban: Ban = {
          ...{ id: newId(now), ...place, source, cause: 'operator', live, times: 1, reason },
          ...{ madeBy: principal.userId, fromMs: now, untilMs: now + for_secs * 1000 },
          ...{ liftedAt: null, liftedBy: null, isSent: true }
        }
        await insert(ban, em)
        made.push(ban)
      }
      return made
    })
    await Promise.all(bans.map(ban => control.objects.deliver(toObjectKey(ban), 'push')))
    return store.read(em => reading.records(bans, em))
  }

  /** Lifts a ban that is in force. */
  async function lift(
    banId: string,
    { change, principal }: Pick<Call, 'change' | 'principal'>
  ): Promise<void> {
    const ban = await change(resourceOf(banId), async em => {
      const found = await em.findOne(Ban, { id: banId })
      const now = clock.now()
      if (!found || found.liftedAt != null || found.untilMs <= now)
        throw new Fault(banNotFound, `no ban ${banId} is in force`)
      await em.nativeUpdate(Ban, { id: banId }, { liftedAt: now, liftedBy: principal.userId, isSent: false })
      await control.objects.drop(em, toObjectKey(found), 'cut')
      return found
    })
    await control.objects.deliver(toObjectKey(ban), 'remove')
  }

  return { ...reading, ...openBanCleanup(deps), report: openBanReports(deps), create, lift }
}

/** Returns the function that finds where a ban is to hold. Throws where an agent cannot keep bans. */
const openScopes =
  ({ clients, rules }: Services) =>
  async ({ client, rule_id }: BanBody, em: EntityManager): Promise<Scope[]> => {
    const parts = rule_id === undefined ? null : await rules.listMembers(rule_id, em)
    if (parts?.length === 0) throw new Fault(ruleNotFound, `there is no rule ${rule_id}`)
    const asked = client === undefined ? null : await clients.get(client, em)
    const places = parts
      ? parts.map(({ id, clientId }) => ({ clientId, ruleId: id }))
      : (asked ? [asked] : await em.find(Client, {})).map(({ id }) => ({ clientId: id, ruleId: '' }))
    const found = asked ? places.filter(({ clientId }) => clientId === asked.id) : places
    if (found.length === 0) throw new Fault(ruleNotFound, `rule ${rule_id} is not on client ${client}`)
    for (const { clientId } of found)
      requireCapability(await clients.get(clientId, em), capability, bansUnsupported)
    return found
  }

/** Throws `validation.ban` for what is no prefix, or is everybody. */
function parseSource(text: string): string {
  const source = normalizePrefix(text)
  const details = { field: '/source', reason: 'prefix' }
  if (source === null)
    throw new Fault(invalidBan, `/source ${text} is neither an address nor a prefix such as 192.0.2.0/24`, {
      details
    })
  if (source.endsWith('/0'))
    throw new Fault(invalidBan, `/source ${source} is everybody; pause the rule instead`, { details })
  return source
}

export const resourceOf = (id: string): Resource => ({
  kind: 'ban',
  id,
  async version(em) {
    const found = await em.findOne(Ban, { id })
    return found && [found.untilMs, found.liftedAt ?? 0]
  }
})
