// Removes expired rules after a grace period. Agents close them at the time of expiry.
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, Type } from 'typebox'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Act } from '../http/exports.ts'
import type { Rules } from '../rules/exports.ts'
import { RuleTimes } from './entities.ts'

export const keys = Type.Object({
  expired_rules_keep_secs: Type.Integer({
    minimum: 0,
    maximum: 315_360_000,
    default: 604_800,
    hot: true,
    description: 'How long an expired rule stays. Until its removal, a later expires_at revives it.'
  })
})

interface Deps extends Pick<Kernel<typeof keys>, 'clock' | 'control' | 'store' | 'log' | 'config'> {
  readonly act: Act
  readonly rules: Rules
}

export interface Expiry {
  /** Removes due rules now and schedules the next run. */
  run(): Promise<void>
  /** Call this when a change may have set an earlier time. The next run starts after its transaction ends. */
  reconsider(): void
  stop(): unknown
}

const batchSize = 100
const leastWaitMs = 1000
const longestWaitMs = 3_600_000 // the wall clock or the setting may change
const sharedWaitMs = 10_000 // a peer server may have set an earlier time
const retryMs = 60_000 // while the store is not readable

export function openExpiry(deps: Deps): Expiry {
  const { clock, control, store, log, act, rules } = deps
  const { nextPage, nextDue } = openQueue(deps)
  let cancel: () => unknown = () => {}
  let isRunning = false
  let isChanged = false // while it runs

  /** Removes due rules. A rule that drains or cannot be removed does not block the next. */
  async function removeDue(): Promise<void> {
    for (let after = { expiresAt: 0, rule: '' }, isLast = false; !isLast; ) {
      const { rows, due } = await store.read(em => nextPage(after, em))
      for (const { id, name } of due)
        await act('_system', 'rule.expire', call => rules.remove(id, 5, call)).catch((error: unknown) =>
          log.warn('rule.not_removed', String(error), { rule: id, rule_name: name ?? undefined })
        )
      const last = rows.at(-1)
      after = { expiresAt: last?.expiresAt ?? 0, rule: last?.rule ?? '' }
      isLast = rows.length < batchSize
    }
  }

  async function run(): Promise<void> {
    isRunning = true
    isChanged = false
    try {
      await control.servers.onOne('schedule.expire', removeDue)
      const longest = control.servers.isAlone() ? longestWaitMs : sharedWaitMs
      const due = (await nextDue()) ?? Number.POSITIVE_INFINITY
      wait(isChanged ? leastWaitMs : Math.min(Math.max(due - clock.now(), leastWaitMs), longest))
    } catch (error) {
      log.warn(
        'schedule.not_tidied',
        `expired rules were not removed, retrying in a minute: ${String(error)}`
      )
      wait(retryMs)
    } finally {
      isRunning = false
    }
  }

  function wait(ms: number): void {
    void cancel()
    cancel = clock.after(ms, run)
  }

  return {
    run,
    reconsider(): void {
      isChanged = true
      if (!isRunning) wait(leastWaitMs)
    },
    stop: (): unknown => cancel()
  }
}

/** Reads expired rules in order of removal. */
function openQueue({ clock, store, config, rules }: Deps) {
  const keepMs = () => (config as Static<typeof keys>).expired_rules_keep_secs * 1000

  /** Returns the next due rows, and their rules that are not already draining. */
  async function nextPage({ expiresAt, rule }: { expiresAt: number; rule: string }, em: EntityManager) {
    const where = {
      expiresAt: { $lte: clock.now() - keepMs() },
      $or: [{ expiresAt: { $gt: expiresAt } }, { expiresAt, rule: { $gt: rule } }]
    }
    const orderBy = { expiresAt: 'asc', rule: 'asc' } as const
    const rows = await em.find(RuleTimes, where, { orderBy, limit: batchSize })
    const ids = rows.map(({ rule }) => rule)
    return {
      rows,
      due: await rules.matching({ id: { $in: ids }, parent: null, state: { $ne: 'draining' } }, em)
    }
  }

  const nextDue = (): Promise<number | null> =>
    store.read(async em => {
      const where = { expiresAt: { $gt: clock.now() - keepMs() } }
      const next = await em.findOne(RuleTimes, where, { orderBy: { expiresAt: 'asc' } })
      return next?.expiresAt == null ? null : next.expiresAt + keepMs()
    })

  return { nextPage, nextDue }
}
