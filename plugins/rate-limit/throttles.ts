// How long connections have waited for a rate limit, by rule and owner, summed over restarts of the agent.
import type { Peer } from '../../kernel/control/peers.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Rules } from '../rules/exports.ts'
import type { Wait } from './wire.ts'

interface Sum {
  readonly wait: Pick<Wait, 'scope' | 'id'>
  instanceId: string
  last: number // as reported
  ms: number
}

export type Throttles = ReturnType<typeof openThrottles>

/** Keeps the sums in memory. After a restart of the server they begin with what running agents report. */
export function openThrottles() {
  const clients = new Map<string, Map<string, Sum>>()

  function record({ clientId, instanceId }: Pick<Peer, 'clientId' | 'instanceId'>, waits: readonly Wait[]) {
    const sums = clients.get(clientId) ?? new Map<string, Sum>()
    clients.set(clientId, sums)
    for (const { scope, id, ms } of waits) {
      const key = `${scope} ${id}`
      const sum = sums.get(key) ?? { wait: { scope, id }, instanceId, last: 0, ms: 0 }
      // A new agent process, or a new meter, counts from 0.
      const before = sum.instanceId === instanceId && ms >= sum.last ? sum.last : 0
      sums.set(key, { ...sum, instanceId, last: ms, ms: sum.ms + ms - before })
    }
  }

  const all = () =>
    [...clients].flatMap(([clientId, sums]) =>
      [...sums.values()].map(({ wait, ms }) => ({ ...wait, clientId, ms }))
    )

  return {
    record,
    all,
    forgetRule: async ({ id, clientId }: { readonly id: string; readonly clientId: string }): Promise<void> =>
      void clients.get(clientId)?.delete(`rule ${id}`),
    forgetClient: (clientId: string): void => void clients.delete(clientId)
  }
}

interface Services extends Pick<Kernel, 'store'> {
  readonly rules: Rules
  readonly throttles: Throttles
}

/** The series of an envelope has an empty rule. */
export const openMetrics =
  ({ store, rules, throttles }: Services): Metrics =>
  async () => {
    const all = throttles.all()
    const ids = all.flatMap(({ scope, id }) => (scope === 'rule' ? [id] : []))
    const owners = await store.read(em => rules.ownershipOf(ids, em))
    const samples = all.flatMap(({ clientId, scope, id, ms }) => {
      const owner = scope === 'owner' ? id : owners.get(id)?.owner
      return owner === undefined
        ? []
        : [{ labelValues: [clientId, owner, scope === 'rule' ? id : ''], value: ms / 1000 }]
    })
    return [
      {
        name: 'svc_rate_limit_throttle_seconds_total',
        type: 'counter',
        help: 'Time that connections waited for the rate limit of their rule, or of their owner (without a rule).',
        labels: ['client', 'owner', 'rule'],
        samples
      }
    ]
  }
