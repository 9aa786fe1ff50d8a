import { type AgentCall, type AgentPlugin, defineField, defineObjectKind } from '../../agent/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import {
  capability,
  messages,
  periodAt,
  QuotaRequired,
  quotaKind,
  requiredKey,
  SavedQuota,
  TrafficQuotaUpdate,
  unsupportedCode
} from './wire.ts'

const tickMs = 1000

/** Enforced quotas by user, for each agent in this process. */
const enforced = new WeakMap<AgentCall, Map<string, SavedQuota>>()

const enforcedQuotas = (call: AgentCall): Map<string, SavedQuota> => {
  const quotas = enforced.get(call) ?? new Map<string, SavedQuota>()
  enforced.set(call, quotas)
  return quotas
}

const meterKey = (user: string): string => `quota ${user}`

export default {
  name: 'quota',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  meters: ({ owner }) => [{ key: meterKey(owner), refusals }],
  fields: [
    defineField({
      key: requiredKey,
      message: QuotaRequired,
      setMeters(required, { owner }, meters) {
        if (required && !meters.isLimited(meterKey(owner)))
          throw new Refused(unsupportedCode, `the quota of ${owner} is not in force on this agent`)
      }
    })
  ],
  kinds: [
    defineObjectKind({
      kind: quotaKind,
      isLimit: true,
      push: TrafficQuotaUpdate,
      readPush: ({ action, user_id: id, revision }) => ({
        id,
        revision,
        ...(action === 'REMOVE' && { removal: 'cut' })
      }),
      answer: (user_id, revision) => ({ user_id, revision }),
      saved: {
        message: SavedQuota,
        from(update, call) {
          const { revision, monthly_bytes, anchor, period_end, hold_secs } = update
          const limit = addBytes(call.journal.delivered(update.user_id), remainingBytes(update, call))
          return { revision, monthly_bytes, anchor, period_end, limit, hold_secs }
        }
      },
      async apply(user, quota, call) {
        enforcedQuotas(call).set(user, quota)
        enforce(user, quota, call)
      },
      applied({ user_id: user, monthly_bytes, period_end }, { log }) {
        const fields = { user, monthly_bytes, period_end }
        log.info('traffic_quota.applied_set', 'the quota of a user is in force', fields)
      },
      async withdraw(user, _, call) {
        enforcedQuotas(call).delete(user)
        call.meters.setBudget(meterKey(user), null)
        return { done: Promise.resolve() }
      }
    })
  ],
  event(event, { meters, log }) {
    if (event.kind !== 'meter-empty') return
    const [, user] = /^quota (.+)$/.exec(meters.keyOf(event.meterId) ?? '') ?? []
    if (user)
      log.info('traffic_quota.exhausted', 'the quota of a user is used up: their rules forward nothing', {
        user
      })
  },
  explain({ path: { spec }, sample }, { meters }) {
    const { budget, counters } = meters.find(meterKey(spec.owner), sample) ?? {}
    if (!budget || !counters || counters.bytesIn + counters.bytesOut < budget.mark) return []
    const text = `the quota of ${spec.owner} on this client is used up: nothing is forwarded until bytes become available`
    const reason = refusals.budget
    return [{ kind: 'quota', id: spec.owner, verdict: 'stop', reason, text }]
  },
  async start({ call, defer }) {
    defer(call.clock.every(tickMs, () => beginNextPeriods(call)))
  }
} satisfies AgentPlugin

const refusals = {
  connections: 'traffic_quota',
  newConnections: 'traffic_quota',
  bytes: 'traffic_quota',
  budget: 'traffic_quota_exhausted'
}

/** Returns the size minus uncleared usage, minus the bytes that the server had not committed in this update. */
function remainingBytes(update: TrafficQuotaUpdate, { journal }: AgentCall): number {
  const { user_id, monthly_bytes, used, credit } = update
  return Math.max(0, monthly_bytes - used + credit - journal.unacknowledged(user_id, update))
}

/** Adds bytes up to the largest safe integer, the maximum size of a quota. */
const addBytes = (a: number, b: number): number => Math.min(Number.MAX_SAFE_INTEGER, a + b)

/** Sets the mark of the meter. The saved limit is a total over all runs; the mark is a total of this run. */
function enforce(
  user: string,
  { limit, hold_secs }: SavedQuota,
  { meters, journal, takeSample }: AgentCall
): void {
  const sample = takeSample()
  const left = Math.max(0, limit - journal.delivered(user))
  const mark = addBytes(meters.totalBytes(meterKey(user), sample), left)
  meters.setBudget(meterKey(user), { mark, holdMs: hold_secs * 1000 })
}

/** Begins the next period of each quota at the end of its period, with or without the server. */
function beginNextPeriods(call: AgentCall): void {
  const now = Math.floor(call.journal.now() / 1000)
  for (const [user, quota] of enforcedQuotas(call)) {
    if (now < quota.period_end) continue
    const { start, end } = periodAt(quota.anchor, now)
    const left = Math.max(0, quota.monthly_bytes - call.journal.deliveredSince(user, start))
    const next = { ...quota, period_end: end, limit: addBytes(call.journal.delivered(user), left) }
    enforcedQuotas(call).set(user, next) // set first, so that the next tick does not begin it again
    call.objects
      .put({ kind: quotaKind, id: user, revision: quota.revision, value: next }, 'retry')
      .catch(error => {
        // Enforced until this process ends; after a restart the period begins again.
        if (enforcedQuotas(call).get(user) === next) enforce(user, next, call)
        call.log.error('traffic_quota.not_saved', `the next period could not be saved: ${String(error)}`, {
          user
        })
      })
    call.log.info('traffic_quota.period', 'the next period begins', { user, period_end: end })
  }
}
