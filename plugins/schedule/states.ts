// States that follow from the times of a rule. They are computed on read, even while the client is offline.
import type { EntityManager } from '@mikro-orm/sql'
import { type Clock, timestamp } from '../../kernel/base/clock.ts'
import { shownStateSlot } from '../rules/exports.ts'
import { RuleTimes } from './entities.ts'
import { reasons } from './fields.ts'
import { isOpenAt, nextChange } from './weekly-hours.ts'

interface Deps {
  readonly clock: Pick<Clock, 'now'>
}

type Times = Pick<RuleTimes, 'notBefore' | 'expiresAt' | 'schedule'>

export const isExpired = ({ expiresAt }: Times, now: number): boolean => expiresAt != null && expiresAt <= now

/** Returns why the rule is closed and, if known, until when: 'outside_schedule until 2026-...'. Null: it is open. */
export function closedBy({ notBefore, schedule }: Times, now: number): string | null {
  const start = Math.max(now, notBefore ?? 0)
  if (start === now && (!schedule || isOpenAt(schedule, now))) return null
  const opens = schedule && !isOpenAt(schedule, start) ? nextChange(schedule, start) : start
  return opens === null ? reasons.outside : `${reasons.outside} until ${timestamp(opens)}`
}

export async function loadTimes(ids: readonly string[], em: EntityManager): Promise<readonly RuleTimes[]> {
  return ids.length === 0 ? [] : em.find(RuleTimes, { rule: { $in: [...ids] } })
}

type Rules = readonly { readonly id: string }[]
const read = new WeakMap<Rules, Promise<readonly RuleTimes[]>>()

/** Reads the times of a list once for both states. */
function loadTimesOnce(rules: Rules, em: EntityManager): Promise<readonly RuleTimes[]> {
  const times =
    read.get(rules) ??
    loadTimes(
      rules.map(({ id }) => id),
      em
    )
  read.set(rules, times)
  return times
}

export const states = [
  shownStateSlot.fillWith((deps: Deps) => ({
    state: reasons.expired,
    port: 'free',
    async load(rules, em) {
      const now = deps.clock.now()
      const expired = (await loadTimesOnce(rules, em)).filter(times => isExpired(times, now))
      return new Map(
        expired.map(({ rule, expiresAt }) => [
          rule,
          `${reasons.expired} since ${timestamp(expiresAt ?? now)}`
        ])
      )
    }
  })),
  shownStateSlot.fillWith((deps: Deps) => ({
    state: reasons.outside,
    port: 'reserved',
    async load(rules, em) {
      const now = deps.clock.now()
      const times = await loadTimesOnce(rules, em)
      return new Map(
        times.flatMap(row => {
          const why = isExpired(row, now) ? null : closedBy(row, now)
          return why === null ? [] : [[row.rule, why] as const]
        })
      )
    }
  }))
]
