// Recent refusals per rule. Counters carry no times, so samples are compared every few seconds.
import type { RecentRefusals, Sample } from '../../agent/plugin.ts'
import type { Clock } from '../../kernel/base/clock.ts'

const recentMs = 60_000

/** Refusals of one rule in the engine. Times are monotonic. */
interface Followed {
  readonly refused: ReadonlyMap<string, { readonly count: number; readonly at: number }> // by reason; `at`: last increase
  readonly accepted: number
  readonly acceptedAt: number // last increase of `accepted`; 0: none since the first refusal
}

type Counters = Sample['rules'][number]

export function openRefusals(clock: Pick<Clock, 'monotonic'>) {
  let rules = new Map<number, Followed>()

  return {
    /** Records the current counters, and forgets rules that left the engine. */
    follow({ rules: counters }: Pick<Sample, 'rules'>): void {
      const now = clock.monotonic()
      const followed = counters.flatMap(counter =>
        Object.keys(counter.rejected).length > 0
          ? [[counter.ruleId, followedOf(counter, rules.get(counter.ruleId), now)] as const]
          : []
      )
      rules = new Map(followed)
    },
    /** Returns a rule's refusals of the last minute, by reason. */
    of(ruleId: number): ReadonlyMap<string, RecentRefusals> {
      const { refused = new Map<string, { count: number; at: number }>(), acceptedAt = 0 } =
        rules.get(ruleId) ?? {}
      const now = clock.monotonic()
      const recent = [...refused].filter(([, { at }]) => now - at < recentMs)
      return new Map(
        recent.map(([reason, { count, at }]) => [
          reason,
          { count, agoMs: now - at, isLast: acceptedAt <= at }
        ])
      )
    }
  }
}

function followedOf(
  { rejected, connectionsTotal: accepted }: Counters,
  before: Followed | undefined,
  now: number
): Followed {
  const refused = new Map(
    Object.entries(rejected).map(([reason, count]) => {
      const seen = before?.refused.get(reason)
      return [reason, { count, at: seen?.count === count ? seen.at : now }]
    })
  )
  const acceptedAt = before && before.accepted < accepted ? now : (before?.acceptedAt ?? 0)
  return { refused, accepted, acceptedAt }
}
