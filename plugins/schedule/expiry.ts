// Removes expired rules after a grace time. Their agents closed them at the time of expiry.
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
    description: 'How long a rule stays after it has expired. Until then a later expires_at revives it.'
  })
})

interface Deps extends Pick<Kernel<typeof keys>, 'clock' | 'control' | 'store' | 'log' | 'config'> {
  readonly act: Act
  readonly rules: Rules
}

export interface Expiry {
  /** Removes due rules now, and waits for the next. */
  run(): Promise<void>
  /** Call when an earlier time may have been set. The transaction that sets it ends before the next run. */
  reconsider(): void
  stop(): unknown
}

const atOnce = 100
const leastWaitMs = 1000
const longestWaitMs = 3_600_000 // the wall clock may be set, and the setting changed
const sharedWaitMs = 10_000 // another server may have set an earlier time
const retryMs = 60_000 // while the store cannot be read

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
      for (const { id } of due)
        await act('_system', 'rule.expire', call => rules.remove(id, 5, call)).catch((error: unknown) =>
          log.warn('rule.not_removed', String(error), { rule: id })
        )
      const last = rows.at(-1)
      after = { expiresAt: last?.expiresAt ?? 0, rule: last?.rule ?? '' }
      isLast = rows.length < atOnce
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

/** Reads expired rules in the order of their removal. */
function openQueue({ clock, store, config, rules }: Deps) {
  const keepMs = () => (config as Static<typeof keys>).expired_rules_keep_secs * 1000

  /** Returns the next due rows, and the rules among them that are not being removed. */
  async function nextPage({ expiresAt, rule }: { expiresAt: number; rule: string }, em: EntityManager) {
    const where = {
      expiresAt: { $lte: clock.now() - keepMs() },
      $or: [{ expiresAt: { $gt: expiresAt } }, { expiresAt, rule: { $gt: rule } }]
    }
    const orderBy = { expiresAt: 'asc', rule: 'asc' } as const
    const rows = await em.find(RuleTimes, where, { orderBy, limit: atOnce })
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
