// Rules that a source, such as the groups at a provider, left without a covering grant. They stay closed until a grant covers
// them again, and are removed after a time.
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, Type } from 'typebox'
import { earliest } from '../../kernel/base/clock.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { openHasRows, type RecordAs } from '../http/exports.ts'
import { type Rules, shownStateSlot } from '../rules/exports.ts'
import { isCovered } from './coverage.ts'
import { Grant, LostRule } from './entities.ts'
import { grantLost } from './wire.ts'

export const keys = Type.Object({
  grant_loss_keep_secs: Type.Integer({
    minimum: 0,
    maximum: 31_536_000,
    default: 604_800,
    hot: true,
    description:
      'How long a rule stays, closed, that lost its grant at a sign-in. Until its removal, a grant that covers it opens it again. 0: it is removed at once.'
  })
})

const batchSize = 100

interface Deps extends Pick<Kernel<typeof keys>, 'clock' | 'store' | 'config' | 'log'> {
  readonly rules: Rules
  readonly recordAs: RecordAs
}

export interface LostRules {
  /** Closes rules that no grant covers, or removes those that cannot wait. Call `rules.refresh` afterwards. */
  lose(ids: readonly string[], actor: string, em: EntityManager): Promise<void>
  /** Removes the rules that have been closed for long enough. */
  removeDue(): Promise<void>
}

type StoredRule = Awaited<ReturnType<Rules['matching']>>[number]

export function openLostRules({ clock, store, config, log, rules, recordAs }: Deps): LostRules {
  const keepMs = (): number => (config as Static<typeof keys>).grant_loss_keep_secs * 1000

  /** The audit log has no entries for members of group rules. */
  async function remove(found: readonly StoredRule[], actorOf: (id: string) => string, em: EntityManager) {
    if (found.length === 0) return
    const removed = await rules.removeAll({ id: { $in: found.map(({ id }) => id) } }, em, 'cut')
    for (const { id, name = null, parent } of found)
      if (parent == null) {
        const resource = { kind: 'rule', id, name: () => name }
        await recordAs(em, { actor: actorOf(id), action: 'rule.delete', resource })
      }
    afterCommit(em, removed.afterCommit)
  }

  async function removeBatch(em: EntityManager): Promise<number> {
    const where = { lostAt: { $lte: earliest(clock) - keepMs() } }
    const due = await em.find(LostRule, where, { orderBy: { lostAt: 'asc', rule: 'asc' }, limit: batchSize })
    const actors = new Map(due.map(({ rule, actor }) => [rule, actor]))
    const lost = await uncoveredAmong(rules, [...actors.keys()], em)
    await em.nativeDelete(LostRule, { rule: { $in: [...actors.keys()] } }) // also of rules that a grant covers again
    await remove(lost, id => actors.get(id) ?? '', em)
    return due.length
  }

  return {
    async lose(ids, actor, em) {
      const found = await rules.matching({ id: { $in: [...ids] } }, em)
      const uncovered = new Set((await uncoveredAmong(rules, ids, em)).map(({ id }) => id))
      // The group rule creates its members again. While a change is pending, the earlier path would stay in force.
      const mayWait = ({ id, parent }: StoredRule): boolean =>
        keepMs() > 0 && parent == null && uncovered.has(id)
      for (const { id } of found.filter(mayWait))
        await em.upsert(LostRule, { rule: id, actor, lostAt: clock.now() })
      await remove(
        found.filter(rule => !mayWait(rule)),
        () => actor,
        em
      )
    },

    async removeDue() {
      try {
        while ((await store.change(removeBatch)) === batchSize);
      } catch (error) {
        log.warn('grants.not_tidied', `rules without a grant were not removed: ${String(error)}`)
      }
    }
  }
}

/** Returns the rules that need a grant, and that none covers. */
async function uncoveredAmong(
  rules: Pick<Rules, 'matching'>,
  ids: readonly string[],
  em: EntityManager
): Promise<StoredRule[]> {
  if (ids.length === 0) return []
  const found = await rules.matching({ id: { $in: [...ids] }, isExempt: false }, em)
  const grants = await em.find(Grant, { userId: { $in: [...new Set(found.map(({ owner }) => owner))] } })
  return found.filter(rule => !isCovered(grants, rule))
}

/** Shows the rules as paused. A rule that its user paused is shown as such. */
export const lostState = shownStateSlot.fillWith(({ rules, store }: Pick<Deps, 'rules' | 'store'>) => {
  const hasLost = openHasRows(store, LostRule)
  return {
    state: 'paused',
    port: 'reserved',
    async load(shown, em) {
      if (shown.length === 0 || !(await hasLost(em))) return new Map()
      const rows = await em.find(LostRule, { rule: { $in: shown.map(({ id }) => id) } })
      const lost = await uncoveredAmong(
        rules,
        rows.map(({ rule }) => rule),
        em
      )
      return new Map(lost.map(({ id }) => [id, grantLost]))
    }
  }
})
