// Keeps the state of each link in its row, so that all servers of a cluster show the same. Changes are collected for a
// second: an agent with links that come and go costs one write a second.
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../../kernel/plugin.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import { rowBatches } from '../../../kernel/store/sql/row-batches.ts'
import { openLinePerMinute, type Rules, type StateChange } from '../../rules/exports.ts'
import { LinkRow, LinkUse } from '../entities.ts'
import { dialedHosts, loadParties } from '../link-object.ts'
import { isSettledState, type JudgedState, judgeLink } from './judge-link.ts'
import type { LinkNotice } from './link-notice.ts'
import type { LinkReports } from './link-reports.ts'

const maxJournals = 256 // rules with a journal entry about one change of a link
const linksPerPage = 128

export interface LinkStates {
  /** Judges these links with the next round, within a second. */
  judge(linkIds: readonly string[]): void
  /** Judges the links that wait for it, and stores the states that have changed. */
  runRound(): Promise<void>
  /** Judges all links, to correct what a server that crashed has missed. */
  sweep(): Promise<void>
  /** Called when the state of a rule changes. */
  ruleChanged(change: StateChange, em: EntityManager): Promise<void>
}

type Services = Pick<Kernel, 'store' | 'clock' | 'control' | 'log'> & {
  readonly rules: Pick<Rules, 'addJournalEntry' | 'shownIds'>
  readonly linkReports: Pick<LinkReports, 'of'>
  readonly linkNotice: Pick<LinkNotice, 'judge'>
}

interface Judged {
  readonly link: LinkRow
  readonly name: string // of its two clients
  readonly next: JudgedState
}

export function openLinkStates(services: Services): LinkStates {
  const { store, log } = services
  const waiting = new Set<string>()
  const logChange = openChangeLog(services)
  let running: Promise<void> | null = null

  /** Reads first: most reports change nothing. */
  async function judgeNow(ids: readonly string[]): Promise<void> {
    const changed = await store.read(em => findChanged(services, ids, em))
    if (changed.length === 0) return
    await store.change(async em => {
      const changedIds = changed.map(({ link: { id } }) => id)
      for (const judged of await findChanged(services, changedIds, em)) {
        await record(services, judged, em)
        afterCommit(em, () => logChange(judged))
      }
    })
  }

  async function judgeWaiting(): Promise<void> {
    const ids = [...waiting]
    waiting.clear()
    try {
      for (const some of rowBatches(ids)) await judgeNow(some)
    } catch (error) {
      for (const id of ids) waiting.add(id)
      log.warn(
        'link.states_not_stored',
        'the states of links were not stored; they are stored with the next round',
        { error: String(error) }
      )
    }
  }

  function runRound(): Promise<void> {
    running ??= judgeWaiting().finally(() => {
      running = null
    })
    return running
  }

  return {
    judge(ids) {
      for (const id of ids) waiting.add(id)
    },
    runRound,
    sweep: () => eachPage(services, judgeNow),
    async ruleChanged({ id: ruleId, from, state }, em) {
      if (isActive(from) === isActive(state)) return
      const uses = await em.find(LinkUse, { ruleId })
      afterCommit(em, () => {
        for (const { linkId } of uses) waiting.add(linkId)
      })
    }
  }
}

/** Calls `judge` with the ids of all links, page by page. */
async function eachPage(
  { store }: Pick<Services, 'store'>,
  judge: (ids: readonly string[]) => Promise<void>
): Promise<void> {
  const pageAfter = (last: string): Promise<Pick<LinkRow, 'id'>[]> =>
    store.read(em =>
      em.find(LinkRow, { id: { $gt: last } }, { fields: ['id'], orderBy: { id: 'asc' }, limit: linksPerPage })
    )
  for (let page = await pageAfter(''); page.length > 0; page = await pageAfter(page.at(-1)?.id ?? ''))
    await judge(page.map(({ id }) => id))
}

const isActive = (state: StateChange['state']): boolean =>
  state === 'pending' || state === 'active' || state === 'draining'

/** Returns the links with another state than the stored one. */
async function findChanged(services: Services, ids: readonly string[], em: EntityManager): Promise<Judged[]> {
  const { control, linkReports } = services
  const links = await em.find(LinkRow, { id: { $in: [...ids] } })
  const parties = await loadParties(links, em)
  const active = await activeIds(ids, em)
  const isRevoked = (id: string): boolean => parties.clients.get(id)?.revokedAt != null
  const isConnected = (id: string): boolean => control.peers.find(id) !== undefined
  const nameOf = (id: string): string => parties.clients.get(id)?.name ?? id
  return links
    .map(link => ({
      link,
      name: `${nameOf(link.nearId)} to ${nameOf(link.farId)}`,
      next: judgeLink(
        {
          isActive: active.has(link.id),
          isRevoked: isRevoked(link.nearId) || isRevoked(link.farId),
          hasHosts: (['near', 'far'] as const).some(side => dialedHosts(link, side, parties).length > 0),
          areConnected: isConnected(link.nearId) && isConnected(link.farId)
        },
        linkReports.of(link)
      )
    }))
    .filter(({ link, next }) => link.state !== next.state || (link.stateReason ?? null) !== next.reason)
}

/** Returns the ids of links that an active rule needs. */
async function activeIds(ids: readonly string[], em: EntityManager): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await em.execute<{ id: string }[]>(
    `select distinct link_id as id from links_use join rules on rules.id = rule_id
     where link_id in (${ids.map(() => '?')}) and rules.state in ('pending', 'active', 'draining')`,
    [...ids]
  )
  return new Set(rows.map(({ id }) => id))
}

async function record(
  { clock, rules, linkNotice }: Services,
  { link, name, next }: Judged,
  em: EntityManager
): Promise<void> {
  const { id, nearId, farId } = link
  await em.nativeUpdate(
    LinkRow,
    { id },
    { state: next.state, stateReason: next.reason, stateSince: clock.now() }
  )
  await linkNotice.judge({ id, name }, next, em)
  if (link.state === next.state || !isSettledState(next) || link.state === 'unused') return
  const uses = await em.find(LinkUse, { linkId: id }, { limit: maxJournals, orderBy: { ruleId: 'asc' } })
  const shown = await rules.shownIds(
    uses.map(({ ruleId }) => ruleId),
    em
  )
  for (const rule of new Set(shown.values()))
    await rules.addJournalEntry(
      {
        about: { rule },
        kind: 'link',
        from: link.state,
        to: next.state,
        cause: next.reason,
        details: { link_id: id, clients: [nearId, farId] }
      },
      em
    )
}

/** Returns a function that logs links that are up or down again, one line for each link, event and minute. */
function openChangeLog({ clock, log }: Pick<Services, 'clock' | 'log'>) {
  const throttled = openLinePerMinute(clock)
  return ({ link, next }: Judged): void => {
    const isUp = next.state === 'up' || next.state === 'degraded'
    const wasUp = link.state === 'up' || link.state === 'degraded'
    if (isUp === wasUp && next.state !== 'down') return
    if (!isUp && next.state !== 'down') return
    const { id, nearId: client, farId: peer } = link
    const secs = Math.max(0, Math.round((clock.now() - link.stateSince) / 1000))
    throttled(`${id} ${next.state}`, 1, suppressed => {
      const more = { suppressed: suppressed > 0 ? suppressed : undefined }
      if (isUp) log.info('link.up', 'the link is up', { client, peer, ...more })
      else log.warn('link.down', 'the link is down', { client, peer, reason: next.reason, secs, ...more })
    })
  }
}
