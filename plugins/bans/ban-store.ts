// Stores bans, makes the agents enforce them, and deletes them when they are old.
import type { EntityManager } from '@mikro-orm/sql'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Client } from '../../kernel/identity/entities.ts'
import { normalizePrefix, openRefusedRows, type RefusedRow } from '../rules/exports.ts'
import type { Services } from './ban-reader.ts'
import { Ban } from './entities.ts'
import { toObjectKey } from './object-kind.ts'
import { maxBanSecs, maxBans, repeatMs, type Ban as WireBan } from './wire.ts'

const retentionMs = 30 * repeatMs
const rowsPerChange = 500

/** Counts the bans that the client's agent has or will get. */
export const countBans = (clientId: string, em: EntityManager): Promise<number> =>
  em.count(Ban, { clientId, isSent: true })

/** Returns a function that stores a ban, sends it to its agent and adds it to the journal of its rule. */
export const openBanInsert =
  ({ control, rules }: Pick<Services, 'control' | 'rules'>) =>
  async (ban: Ban, em: EntityManager): Promise<void> => {
    await em.insert(Ban, ban)
    await control.objects.put(em, toObjectKey(ban))
    if (ban.ruleId === '') return
    const { source: to, cause, times, fromMs: at } = ban
    const details = { until: new Date(ban.untilMs).toISOString(), times }
    await rules.addJournalEntry(
      { about: { rule: ban.ruleId }, kind: 'ban', from: null, to, cause, details, at },
      em
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
    const refused = await change(async em => {
      const owned = await rules.loadScopes([...new Set(reported.map(({ rule_id }) => rule_id))], em)
      const known = new Set(
        (await em.find(Ban, { id: { $in: reported.map(({ id }) => id) } })).map(({ id }) => id)
      )
      let count = await countBans(clientId, em)
      const refused: RefusedRow[] = []
      for (const ban of reported) {
        if (known.has(ban.id)) continue
        known.add(ban.id)
        const isOwn = owned.get(ban.rule_id)?.clientId === clientId
        if (isOwn && isPlausible(ban, now) && count < maxBans) {
          count++
          await insert(toRow(ban, clientId), em)
        } else refused.push({ report: 'bans', reason: isOwn ? 'value' : 'rule', rule: ban.rule_id })
      }
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
    const now = clock.now()
    const bans = await store.change(async em => {
      const ended = await em.find(
        Ban,
        { isSent: true, untilMs: { $lt: now - repeatMs } },
        { limit: rowsPerChange }
      )
      await control.objects.drop(em, ended.map(toObjectKey), 'cut')
      await em.nativeUpdate(Ban, { id: { $in: ended.map(({ id }) => id) } }, { isSent: false })
      await em.nativeDelete(Ban, { isSent: false, untilMs: { $lt: now - retentionMs } })
      return ended
    })
    for (const clientId of new Set(bans.map(({ clientId }) => clientId))) control.objects.wake(clientId)
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

const toRow = (ban: WireBan, clientId: string): Ban => ({
  id: ban.id,
  clientId,
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
