// How long connections have waited for a rate limit, by rule and owner, summed over restarts of the agent.
import type { Peer } from '../../kernel/control/peers.ts'
import type { Wait } from './wire.ts'

export interface Throttle extends Pick<Wait, 'scope' | 'id'> {
  readonly clientId: string
  readonly ms: number
}

interface Sum {
  readonly wait: Pick<Wait, 'scope' | 'id'>
  instanceId: string
  last: number // as reported
  ms: number
}

export type Throttles = ReturnType<typeof openThrottles>

/** In memory: the sums start at 0 with the server. */
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

  const all = (): Throttle[] =>
    [...clients].flatMap(([clientId, sums]) =>
      [...sums.values()].map(({ wait, ms }) => ({ ...wait, clientId, ms }))
    )

  return {
    record,
    all,
    forgetRule: ({ id, clientId }: { readonly id: string; readonly clientId: string }): void =>
      void clients.get(clientId)?.delete(`rule ${id}`),
    forgetClient: (clientId: string): void => void clients.delete(clientId),
    forgetOwner(ownerId: string): void {
      for (const sums of clients.values()) sums.delete(`owner ${ownerId}`)
    }
  }
}
