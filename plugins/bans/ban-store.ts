// Stores bans, makes the agents enforce them, and deletes them when they are old.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { normalizePrefix, openRefusedRows, type RefusedRow } from '../rules/exports.ts'
import type { Services } from './ban-reader.ts'
import { Ban } from './entities.ts'
import { evictRuleBans } from './evict-rule-bans.ts'
import { toObjectKey } from './object-kind.ts'
import { maxBanSecs, repeatMs, type Ban as WireBan } from './wire.ts'

const retentionMs = 30 * repeatMs
const rowsPerChange = 500
const columns = 15

/** Returns a function that stores bans, sends them to their agents and adds them to the journals of their rules. */
export const openBanInsert =
  ({ control, rules }: Pick<Services, 'control' | 'rules'>) =>
  async (bans: readonly Ban[], em: EntityManager): Promise<void> => {
    for (const some of rowBatches(bans, columns)) await em.insertMany(Ban, [...some])
    await control.objects.put(em, ...bans.map(toObjectKey))
    const journaled = bans.filter(({ ruleId }) => ruleId !== '')
    await Promise.all(
      journaled.map(({ ruleId, source: to, cause, times, untilMs, fromMs: at }) => {
        const details = { until: new Date(untilMs).toISOString(), times }
        return rules.addJournalEntry(
          { about: { rule: ruleId }, kind: 'ban', from: null, to, cause, details, at },
          em
        )
      })
    )
  }

/** Stores bans that an agent made. Idempotent: skips bans that are already stored. */
export type ReportBans = (
  peer: Pick<Peer, 'clientId' | 'change'>,
  reported: readonly WireBan[]
) => Promise<void>

export function openBanReports(deps: Services): ReportBans {
  const { clock, control, rules, log } = deps
  const insert = openBanInsert(deps)
  const logRefused = openRefusedRows({ clock, log })

  return async function report({ clientId, change }, reported) {
    const now = clock.now()
    const unique = [...new Map(reported.map(ban => [ban.id, ban])).values()]
    const refused = await change(async em => {
      const owned = await rules.loadScopes([...new Set(unique.map(({ rule_id }) => rule_id))], em)
      const known = await em.find(Ban, { id: { $in: unique.map(({ id }) => id) } })
      const knownIds = new Set(known.map(({ id }) => id))
      const refused: RefusedRow[] = []
      const added: Ban[] = []
      for (const ban of unique.filter(({ id }) => !knownIds.has(id))) {
        const scope = owned.get(ban.rule_id)
        const isOwn = scope?.clientId === clientId
        if (isOwn && isPlausible(ban, now)) added.push(toRow(ban, scope))
        else refused.push({ report: 'bans', reason: isOwn ? 'value' : 'rule', rule: ban.rule_id })
      }
      await insert(added, em)
      // The agent may have saved a ban again that was lifted after its first report.
      const lifted = known.filter(ban => !ban.isSent && ban.clientId === clientId)
      const surplus = await evictRuleBans(clientId, added, em)
      await control.objects.drop(em, [...lifted, ...surplus].map(toObjectKey), 'cut')
      return refused
    })
    if (refused.length > 0) logRefused(clientId, refused)
    control.objects.wake(clientId)
  }
}

export interface BanCleanup {
  /** Removes bans from agents a day after they end, and deletes them after 30 days. */
  tidy(): Promise<void>
  /** Deletes the bans of a removed rule, also on its agent. */
  ruleRemoved(rule: { readonly id: string }, em: EntityManager): Promise<void>
  /** Deletes the bans of a removed client. */
  clientRemoved(client: Pick<Client, 'id'>, em: EntityManager): Promise<void>
}

export function openBanCleanup({ store, clock, control }: Services): BanCleanup {
  async function tidy(): Promise<void> {
    const endedBefore = clock.now() - repeatMs
    for (let hasMore = true; hasMore; await setImmediate()) {
      const ended = await store.change(em => removeEnded(endedBefore, em))
      for (const clientId of new Set(ended.map(({ clientId }) => clientId))) control.objects.wake(clientId)
      hasMore = ended.length === rowsPerChange
    }
    await store.change(em =>
      em.nativeDelete(Ban, { isSent: false, untilMs: { $lt: clock.now() - retentionMs } })
    )
  }

  /** Removes some of the bans that ended before from their agents. */
  async function removeEnded(before: number, em: EntityManager): Promise<Ban[]> {
    const where = { isSent: true, untilMs: { $lt: before } }
    const ended = await em.find(Ban, where, { limit: rowsPerChange })
    await control.objects.drop(em, ended.map(toObjectKey), 'cut')
    await em.nativeUpdate(Ban, { id: { $in: ended.map(({ id }) => id) } }, { isSent: false })
    return ended
  }

  async function ruleRemoved({ id }: { readonly id: string }, em: EntityManager): Promise<void> {
    const sent = await em.find(Ban, { ruleId: id, isSent: true })
    await control.objects.drop(em, sent.map(toObjectKey), 'cut')
    await em.nativeDelete(Ban, { ruleId: id })
  }

  const clientRemoved = async ({ id: clientId }: Pick<Client, 'id'>, em: EntityManager): Promise<void> =>
    void (await em.nativeDelete(Ban, { clientId }))

  return { tidy, ruleRemoved, clientRemoved }
}

/** True for a source in the form that agents ban, and a duration within their limit. */
const isPlausible = ({ source, cause, from_ms, until_ms }: WireBan, now: number): boolean =>
  cause !== 'operator' &&
  normalizePrefix(source) === source &&
  (source.includes(':') ? source.endsWith('/64') : !source.includes('/')) &&
  from_ms < until_ms &&
  until_ms < now + (maxBanSecs + 86_400) * 1000

const toRow = (ban: WireBan, { clientId, owner }: Pick<Ban, 'clientId' | 'owner'>): Ban => ({
  id: ban.id,
  clientId,
  owner,
  ruleId: ban.rule_id,
  source: ban.source,
  cause: ban.cause,
  live: ban.live,
  times: ban.times,
  reason: null,
  madeBy: null,
  fromMs: ban.from_ms,
  untilMs: ban.until_ms,
  liftedAt: null,
  liftedBy: null,
  isSent: true
})
