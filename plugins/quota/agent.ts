import { type AgentCall, type AgentPlugin, defineObjectKind } from '../../agent/plugin.ts'
import { capability, Kept, messages, periodOf, quotaKind, TrafficQuotaUpdate } from './wire.ts'

const tickMs = 1000

/** What is in force, by user, by the agent's journal: a process may hold several agents. */
const inForce = new WeakMap<AgentCall['journal'], Map<string, Kept>>()

const keptOf = ({ journal }: Pick<AgentCall, 'journal'>): Map<string, Kept> => {
  const kept = inForce.get(journal) ?? new Map<string, Kept>()
  inForce.set(journal, kept)
  return kept
}

const meterOf = (user: string): string => `quota ${user}`

export default {
  name: 'quota',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  meters: ({ owner }) => [{ key: meterOf(owner), refusals }],
  kinds: [
    defineObjectKind({
      kind: quotaKind,
      push: TrafficQuotaUpdate,
      readPush: ({ action, user_id: id, revision }) => ({
        id,
        revision,
        ...(action === 'REMOVE' && { removal: 'cut' })
      }),
      answer: (user_id, revision) => ({ user_id, revision }),
      saved: {
        message: Kept,
        from: (update, call) => ({
          ...termsOf(update),
          limit: plus(call.journal.delivered(update.user_id), leftOf(update, call))
        })
      },
      async apply(user, kept, call) {
        keptOf(call).set(user, kept)
        enforce(user, kept, call)
      },
      applied({ user_id: user, monthly_bytes, period_end }, { log }) {
        const fields = { user, monthly_bytes, period_end }
        log.info('traffic_quota.applied_set', 'the quota of a user is in force', fields)
      },
      async withdraw(user, _, call) {
        keptOf(call).delete(user)
        call.meters.setBudget(meterOf(user), null)
        return { done: Promise.resolve() }
      }
    })
  ],
  event(event, { meters, log }) {
    if (event.kind !== 'meter-empty') return
    const [, user] = /^quota (.+)$/.exec(meters.keyOf(event.meterId) ?? '') ?? []
    if (user) log.info('traffic_quota.exhausted', 'nothing of the user is forwarded any more', { user })
  },
  async start({ call, defer }) {
    defer(call.clock.every(tickMs, () => turnAll(call)))
  }
} satisfies AgentPlugin

const refusals = {
  connections: 'traffic_quota',
  newConnections: 'traffic_quota',
  bytes: 'traffic_quota',
  budget: 'traffic_quota_exhausted'
}

const termsOf = ({ revision, monthly_bytes, anchor, period_end, hold_secs }: TrafficQuotaUpdate) => ({
  revision,
  monthly_bytes,
  anchor,
  period_end,
  hold_secs
})

/** The cap, less what is booked and not forgiven, less what the server did not know of when it said so. */
function leftOf(update: TrafficQuotaUpdate, { journal }: AgentCall): number {
  const { user_id, monthly_bytes, booked, credit } = update
  return Math.max(0, monthly_bytes - booked + credit - journal.unacknowledged(user_id, update))
}

/** A size may be as large as a number can be. */
const plus = (passed: number, left: number): number => Math.min(Number.MAX_SAFE_INTEGER, passed + left)

/** The mark is a distance from what has passed at this instant; what is kept is a total that outlives the process. */
function enforce(user: string, { limit, hold_secs }: Kept, { meters, journal, takeSample }: AgentCall): void {
  const sample = takeSample()
  const left = Math.max(0, limit - journal.delivered(user))
  const mark = plus(meters.totalBytes(meterOf(user), sample), left)
  meters.setBudget(meterOf(user), { mark, holdMs: hold_secs * 1000 })
}

/** A period that is over is followed by the next, with the server or without. */
function turnAll(call: AgentCall): void {
  const now = Math.floor(call.journal.now() / 1000)
  for (const [user, kept] of keptOf(call)) {
    if (now < kept.period_end) continue
    const { start, end } = periodOf(kept.anchor, now)
    const left = Math.max(0, kept.monthly_bytes - call.journal.deliveredSince(user, start))
    const next = { ...kept, period_end: end, limit: plus(call.journal.delivered(user), left) }
    keptOf(call).set(user, next) // once, while it is being saved
    call.objects
      .put({ kind: quotaKind, id: user, revision: kept.revision, value: next }, 'retry')
      .catch(error => holdUnsaved(user, next, String(error), call))
    call.log.info('traffic_quota.period', 'the next period begins', { user, period_end: end })
  }
}

/** It holds until this process ends; the next begins the period once more. */
function holdUnsaved(user: string, next: Kept, error: string, call: AgentCall): void {
  if (keptOf(call).get(user) === next) enforce(user, next, call)
  call.log.error('traffic_quota.not_saved', `the next period could not be saved: ${error}`, { user })
}
