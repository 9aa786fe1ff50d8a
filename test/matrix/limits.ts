// What a rule, or its owner, can be limited to: what stays under it, what goes over it, and what must come of that.
import type { Test } from 'tap'
import { datagramBytes, type Protocol } from './callers.ts'
import type { Placed } from './place.ts'
import { soon, type World } from './world.ts'

export interface Limit {
  readonly name: string
  readonly scope: 'rule' | 'owner'
  /** Under which what is refused is counted. */
  readonly reason: string
  caps(protocol: Protocol): object | null
  readonly monthlyBytes: number | null
  under(placed: Placed): Promise<void>
  over(placed: Placed): Promise<Outcome>
  /** What else must be so in the end. */
  check?(t: Test, placed: Placed, world: World): Promise<void>
}

export interface Outcome {
  /** Connections, or datagrams. */
  readonly refused: { readonly least: number; readonly most: number }
  /** TCP connections waited for at least so long. */
  readonly waitedMs: number
}

const nobody = { least: 0, most: 0 }
const all = Number.POSITIVE_INFINITY

/** One connection, or the first datagram of a flow. */
async function attempt({ kind, dial }: Placed): Promise<void> {
  const caller = dial()
  if (kind.protocol === 'udp') return caller.flood(100)
  await caller.say(100).catch(() => {}) // the caller knows that it was refused
}

const times = (count: number, task: () => Promise<void>): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, task))

const burstBytes = 16 * 1024
const bytesPerSec = { tcp: 500_000, udp: 16_000 } as const

function bandwidth(direction: 'in' | 'out', scope: Limit['scope']): Limit {
  return {
    name: scope === 'rule' ? `bandwidth ${direction}` : 'owner bandwidth',
    scope,
    reason: scope === 'rule' ? 'bandwidth' : 'owner_bandwidth',
    caps: protocol => ({
      [`bandwidth_${direction}_bps`]: bytesPerSec[protocol] * 8,
      [`bandwidth_${direction}_burst_bytes`]: burstBytes
    }),
    monthlyBytes: null,
    under: ({ dial }) => dial().say(4_000),
    async over({ kind, dial }) {
      const caller = dial()
      if (kind.protocol === 'udp') {
        caller.flood(60 * datagramBytes)
        return { refused: { least: 20, most: 60 }, waitedMs: 0 }
      }
      const bytes = 300_000
      const leastMs = ((bytes - burstBytes) * 1000) / bytesPerSec.tcp
      const startedAt = performance.now()
      await caller.say(bytes)
      const tookMs = performance.now() - startedAt
      if (tookMs < leastMs) throw new Error(`${bytes} bytes came in ${tookMs} ms, they need ${leastMs}`)
      return { refused: nobody, waitedMs: leastMs / 2 }
    }
  }
}

function connections(scope: Limit['scope']): Limit {
  const most = 3
  return {
    name: scope === 'rule' ? 'concurrent connections' : 'owner connections',
    scope,
    reason: scope === 'rule' ? 'concurrent_connections' : 'owner_concurrent_connections',
    caps: () => ({ concurrent_connections: most }),
    monthlyBytes: null,
    under: async ({ dial }) => void (await times(most, () => dial().say(500))),
    async over(placed) {
      await times(2, () => attempt(placed))
      return { refused: { least: 2, most: 2 }, waitedMs: 0 }
    }
  }
}

const arrivals: Limit = {
  name: 'new connections per second',
  scope: 'rule',
  reason: 'new_connections_per_sec',
  caps: () => ({ new_connections_per_sec: 1, new_connections_burst: 3 }),
  monthlyBytes: null,
  under: async ({ dial }) => void (await times(3, () => dial().say(500))),
  async over(placed) {
    await times(12, () => attempt(placed))
    return { refused: { least: 5, most: 12 }, waitedMs: 0 } // the bucket never holds more than 3
  }
}

const monthlyBytes = 40_000
const overshootBytes = 64 * 1024

/** As both ends have counted it. */
const delivered = (placed: Placed): number => placed.received() + placed.heard()

const quota: Limit = {
  name: 'byte budget',
  scope: 'owner',
  reason: 'traffic_quota_exhausted',
  caps: () => null,
  monthlyBytes,
  under: ({ dial }) => dial().say(2_000),
  async over(placed) {
    const caller = placed.dial()
    await caller.say(100)
    caller.flood(60 * datagramBytes)
    while (delivered(placed) < monthlyBytes) await soon()
    await times(2, () => attempt(placed))
    if (placed.kind.protocol === 'udp') return { refused: { least: 3, most: all }, waitedMs: 0 }
    await caller.ended // held, then reset
    return { refused: { least: 2, most: 2 }, waitedMs: 0 }
  },
  async check(t, placed, { call, clientId }) {
    const status = await call<{ exhausted: boolean; bytes_used: number }>(
      'GET',
      `/v1/users/${placed.owner}/quotas/${clientId}/status`
    )
    t.match(status, { exhausted: true, bytes_used: delivered(placed) }, 'the quota is spent')
    t.ok(
      delivered(placed) <= monthlyBytes + overshootBytes * placed.callers.length,
      'hardly more than the quota'
    )
  }
}

export const limits: readonly Limit[] = [
  bandwidth('in', 'rule'),
  bandwidth('out', 'rule'),
  connections('rule'),
  arrivals,
  bandwidth('in', 'owner'),
  connections('owner'),
  quota
]
