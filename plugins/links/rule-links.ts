// The links that rules need: a row appears with the first rule that needs the pair, and goes with the last one, unless a
// setting differs from its default.
import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { openHasRows } from '../http/exports.ts'
import type { FollowedRule, RuleCore, RuleFollower } from '../rules/exports.ts'
import { LinkRow, LinkUse } from './entities.ts'
import { requireEndpoints, requireRoom } from './link-checks.ts'
import { existingClients, findLinks, findPairs, neededIds, pairKey, pairOf } from './link-queries.ts'
import { defaultSettings, type LinkRows } from './link-rows.ts'
import { type Pair, pairsOf } from './paths/pairs.ts'
import type { keys } from './settings.ts'
import type { LinkStates } from './state/link-states.ts'

export interface RuleLinks extends RuleFollower {
  /** Removes the links that only this rule needs. */
  ruleRemoved(rule: { readonly id: string }, em: EntityManager): Promise<void>
  /** Removes what rules left that were deleted while this plugin was disabled. */
  sweep(em: EntityManager): Promise<void>
}

type Services = Pick<Kernel<typeof keys>, 'config' | 'clock' | 'store'> & {
  readonly linkRows: Pick<LinkRows, 'put' | 'release'>
  readonly linkStates: Pick<LinkStates, 'judge'>
}

export function openRuleLinks(services: Services): RuleLinks {
  const { linkRows, store } = services
  const hasUses = openHasRows(store, LinkUse)
  /** Asks nothing while no rule uses a link. */
  const usesOf = async (rules: readonly Pick<RuleCore, 'id'>[], em: EntityManager) =>
    (await hasUses(em)) ? readUses(rules, em) : []

  async function removeUses(uses: readonly LinkUse[], em: EntityManager): Promise<void> {
    if (uses.length === 0) return
    for (const { ruleId, linkId } of uses) await em.nativeDelete(LinkUse, { ruleId, linkId })
    await linkRows.release([...new Set(uses.map(({ linkId }) => linkId))], em)
  }

  /** Removes the uses of links that are on no path of their rules. */
  async function removeStale(
    rules: readonly RuleCore[],
    stored: readonly LinkUse[],
    em: EntityManager
  ): Promise<void> {
    const paths = new Map(rules.map(rule => [rule.id, new Set(pairsOf(rule).map(pairKey))]))
    const uses = stored.filter(({ ruleId }) => paths.has(ruleId))
    if (uses.length === 0) return
    const links = await findLinks([...new Set(uses.map(({ linkId }) => linkId))], em)
    const keys = new Map(links.map(link => [link.id, pairKey(pairOf(link))]))
    await removeUses(
      uses.filter(({ ruleId, linkId }) => !paths.get(ruleId)?.has(keys.get(linkId) ?? '')),
      em
    )
  }

  return {
    /** While a change is pending, the links of the earlier definition stay. */
    async changed(rules, { isStored }, em) {
      const stored = await usesOf(rules, em)
      const added = await addedUses(rules, stored, em)
      if (added.length > 0) await (isStored ? restore(services, added, em) : add(services, added, em))
      const settled = rules.filter(({ before }) => before == null)
      await removeStale(settled, stored, em)
    },
    applied: async (rule, em) => removeStale([rule], await usesOf([rule], em), em),
    ruleRemoved: async (rule, em) => removeUses(await usesOf([rule], em), em),
    async sweep(em) {
      const orphans = await em.execute<{ ruleId: string; linkId: string }[]>(
        `select rule_id as "ruleId", link_id as "linkId" from links_use
         where not exists (select 1 from rules where rules.id = links_use.rule_id)`
      )
      await removeUses(orphans, em)
    }
  }
}

interface PairUse {
  readonly ruleId: string
  readonly pair: Pair
}

async function readUses(rules: readonly Pick<RuleCore, 'id'>[], em: EntityManager): Promise<LinkUse[]> {
  const uses: LinkUse[] = []
  for (const some of rowBatches(rules))
    uses.push(...(await em.find(LinkUse, { ruleId: { $in: some.map(({ id }) => id) } })))
  return uses
}

/** Returns the pairs on the paths of the rules that are not stored as uses. */
async function addedUses(
  rules: readonly FollowedRule[],
  stored: readonly LinkUse[],
  em: EntityManager
): Promise<PairUse[]> {
  const wanted = rules.flatMap(rule => pairsOf(rule).map(pair => ({ ruleId: rule.id, pair })))
  if (wanted.length === 0) return []
  const present = await findPairs(distinct(wanted), em)
  const uses = new Set(stored.map(({ ruleId, linkId }) => `${ruleId} ${linkId}`))
  return wanted.filter(({ ruleId, pair }) => !uses.has(`${ruleId} ${present.get(pairKey(pair))?.id}`))
}

/** Adds uses of rules that are stored already. One of their clients may be deleted. */
async function restore(services: Services, added: readonly PairUse[], em: EntityManager): Promise<void> {
  const present = await existingClients(
    added.flatMap(({ pair }) => pair),
    em
  )
  const known = added.filter(({ pair }) => pair.every(id => present.has(id)))
  await insert(services, known, await unneededPairs(known, em), em)
}

/** Throws if a pair must not have a link. */
async function add(services: Services, added: readonly PairUse[], em: EntityManager): Promise<void> {
  const unneeded = await unneededPairs(added, em)
  await requireEndpoints(distinct(added), em)
  await requireRoom(services, unneeded, em)
  await insert(services, added, unneeded, em)
}

/** Returns the pairs without a rule that needs their link so far. */
async function unneededPairs(added: readonly PairUse[], em: EntityManager): Promise<Pair[]> {
  const pairs = distinct(added)
  const present = await findPairs(pairs, em)
  const needed = await neededIds([...present.values()], em)
  return pairs.filter(pair => !needed.has(present.get(pairKey(pair))?.id ?? ''))
}

async function insert(
  services: Services,
  added: readonly PairUse[],
  unneeded: readonly Pair[],
  em: EntityManager
): Promise<void> {
  const links = await findPairs(distinct(added), em)
  for (const pair of unneeded) {
    if (links.has(pairKey(pair))) continue
    const link = newLink(pair, services)
    await em.insert(LinkRow, link)
    links.set(pairKey(pair), link)
  }
  const rows = added.flatMap(({ ruleId, pair }) => {
    const link = links.get(pairKey(pair))
    return link ? [{ ruleId, linkId: link.id }] : []
  })
  for (const some of rowBatches(rows, 2)) await em.insertMany(LinkUse, [...some])
  await services.linkRows.put(
    unneeded.flatMap(pair => links.get(pairKey(pair)) ?? []),
    em
  )
  afterCommit(em, () => services.linkStates.judge(rows.map(({ linkId }) => linkId)))
}

const distinct = (uses: readonly PairUse[]): Pair[] => [
  ...new Map(uses.map(({ pair }) => [pairKey(pair), pair])).values()
]

const newLink = ([nearId, farId]: Pair, { clock }: Pick<Services, 'clock'>): LinkRow => {
  const now = clock.now()
  return {
    id: newId(now),
    nearId,
    farId,
    ...defaultSettings,
    state: 'unused',
    stateReason: null,
    stateSince: now,
    nearRevision: 0,
    farRevision: 0,
    updatedAt: now
  }
}
