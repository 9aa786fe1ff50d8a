// Sums the time that connections waited for a rate limit, by rule and owner, across restarts of the agent.
import type { EntityManager } from '@mikro-orm/sql'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openRefusedRows, type Rules } from '../rules/exports.ts'
import { Envelope } from './entities.ts'
import type { Wait } from './wire.ts'

interface Sum {
  readonly wait: Pick<Wait, 'scope' | 'id'>
  instanceId: string
  last: number // ms, as reported
  ms: number
}

const maxMs = Number.MAX_SAFE_INTEGER

interface Services extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly rules: Rules
}

/** Sums in memory; after a restart of the server they begin with the totals of running agents. */
export interface Throttles {
  /** Counts only waits of the client's rules, and of owners with rules or an envelope there, to bound the memory. */
  record(peer: Pick<Peer, 'clientId' | 'instanceId'>, waits: readonly Wait[]): Promise<void>
  all(): readonly (Pick<Wait, 'scope' | 'id' | 'ms'> & { readonly clientId: string })[]
  forgetOwner(owner: string): void
  forgetRule(rule: { readonly id: string; readonly clientId: string }): Promise<void>
  forgetClient(clientId: string): void
}

export function openThrottles({ store, clock, log, rules }: Services): Throttles {
  const clients = new Map<string, Map<string, Sum>>()
  const logRefused = openRefusedRows({ clock, log })

  async function record(
    { clientId, instanceId }: Pick<Peer, 'clientId' | 'instanceId'>,
    waits: readonly Wait[]
  ): Promise<void> {
    const unknown = waits.filter(wait => !clients.get(clientId)?.has(waitKey(wait)))
    const known = await store.read(em => reportableKeys(clientId, { rules, waits: unknown }, em))
    const refused = unknown.filter(wait => !known.has(waitKey(wait)))
    const sums = clients.get(clientId) ?? new Map<string, Sum>()
    for (const { scope, id, ms } of waits) {
      const key = waitKey({ scope, id })
      if (!sums.has(key) && !known.has(key)) continue
      const sum = sums.get(key) ?? { wait: { scope, id }, instanceId, last: 0, ms: 0 }
      // A new agent process, or a new meter, counts from 0.
      const before = sum.instanceId === instanceId && ms >= sum.last ? sum.last : 0
      sums.set(key, { ...sum, instanceId, last: ms, ms: Math.min(maxMs, sum.ms + ms - before) })
    }
    if (sums.size > 0) clients.set(clientId, sums)
    logRefused(
      clientId,
      refused.map(({ scope, id }) => ({ report: 'waits', reason: scope, key: id }))
    )
  }

  const all = () =>
    [...clients].flatMap(([clientId, sums]) =>
      [...sums.values()].map(({ wait, ms }) => ({ ...wait, clientId, ms }))
    )

  return {
    record,
    all,
    forgetOwner(owner: string): void {
      for (const sums of clients.values()) sums.delete(waitKey({ scope: 'owner', id: owner }))
    },
    forgetRule: async ({ id, clientId }: { readonly id: string; readonly clientId: string }): Promise<void> =>
      void clients.get(clientId)?.delete(waitKey({ scope: 'rule', id })),
    forgetClient: (clientId: string): void => void clients.delete(clientId)
  }
}

/** Returns the keys of the waits that the client's agent may report. */
async function reportableKeys(
  clientId: string,
  { rules, waits }: { readonly rules: Rules; readonly waits: readonly Wait[] },
  em: EntityManager
): Promise<ReadonlySet<string>> {
  const idsIn = (scope: Wait['scope']) => waits.flatMap(wait => (wait.scope === scope ? [wait.id] : []))
  const ownerIds = idsIn('owner')
  const found = await rules.loadScopes(idsIn('rule'), em)
  const own = [...found].filter(([, rule]) => rule.clientId === clientId)
  const owners = ownerIds.length === 0 ? [] : await rules.ownersOn(clientId, ownerIds, em)
  const limited =
    ownerIds.length === 0 ? [] : await em.find(Envelope, { clientId, ownerId: { $in: ownerIds } })
  return new Set([
    ...own.map(([id]) => waitKey({ scope: 'rule', id })),
    ...[...owners, ...limited.map(({ ownerId }) => ownerId)].map(id => waitKey({ scope: 'owner', id }))
  ])
}

const waitKey = ({ scope, id }: Pick<Wait, 'scope' | 'id'>): string => `${scope} ${id}`

/** The series of an envelope has an empty rule. */
export const openMetrics =
  ({ store, rules, throttles }: Services & { readonly throttles: Throttles }): Metrics =>
  async () => {
    const all = throttles.all()
    const ids = all.flatMap(({ scope, id }) => (scope === 'rule' ? [id] : []))
    const owners = await store.read(em => rules.loadScopes(ids, em))
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
        help: 'Time that connections waited for the rate limit of their rule; without a rule: of their owner.',
        labels: ['client', 'owner', 'rule'],
        samples
      }
    ]
  }
