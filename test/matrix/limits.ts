// The limits of a rule or its owner, each with traffic below it, traffic above it, and the expected outcome.
import type { Test } from 'tap'
import { datagramBytes, type Protocol } from './callers.ts'
import type { TestRule } from './test-rule.ts'
import { retryDelay, type World } from './world.ts'

export interface Limit {
  readonly name: string
  readonly scope: 'rule' | 'owner'
  /** Rejection reason in stats and metrics. */
  readonly reason: string
  rateLimit(protocol: Protocol): object | null
  readonly monthlyBytes: number | null
  stayUnder(rule: TestRule): Promise<void>
  exceed(rule: TestRule): Promise<Outcome>
  /** Additional checks at the end. */
  check?(t: Test, rule: TestRule, world: World): Promise<void>
}

export interface Outcome {
  /** Number of refused connections or datagrams. */
  readonly refused: { readonly least: number; readonly most: number }
  /** Least time that TCP connections were throttled. */
  readonly waitedMs: number
}

const none = { least: 0, most: 0 }
const unlimited = Number.POSITIVE_INFINITY

/** Opens one connection or sends the first datagram of a flow. Ignores a refusal. */
async function attempt({ kind, dial }: TestRule): Promise<void> {
  const caller = dial()
  if (kind.protocol === 'udp') return caller.send(100)
  await caller.echo(100).catch(() => {}) // `refused` counts it
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
    rateLimit: protocol => ({
      [`bandwidth_${direction}_bps`]: bytesPerSec[protocol] * 8,
      [`bandwidth_${direction}_burst_bytes`]: burstBytes
    }),
    monthlyBytes: null,
    stayUnder: ({ dial }) => dial().echo(4_000),
    async exceed({ kind, dial }) {
      const caller = dial()
      if (kind.protocol === 'udp') {
        caller.send(60 * datagramBytes)
        return { refused: { least: 20, most: 60 }, waitedMs: 0 }
      }
      const bytes = 300_000
      const leastMs = ((bytes - burstBytes) * 1000) / bytesPerSec.tcp
      const startedAt = performance.now()
      await caller.echo(bytes)
      const tookMs = performance.now() - startedAt
      if (tookMs < leastMs) throw new Error(`${bytes} bytes took ${tookMs} ms, less than ${leastMs}`)
      return { refused: none, waitedMs: leastMs / 2 }
    }
  }
}

function connections(scope: Limit['scope']): Limit {
  const most = 3
  return {
    name: scope === 'rule' ? 'concurrent connections' : 'owner connections',
    scope,
    reason: scope === 'rule' ? 'concurrent_connections' : 'owner_concurrent_connections',
    rateLimit: () => ({ concurrent_connections: most }),
    monthlyBytes: null,
    stayUnder: async ({ dial }) => void (await times(most, () => dial().echo(500))),
    async exceed(rule) {
      await times(2, () => attempt(rule))
      return { refused: { least: 2, most: 2 }, waitedMs: 0 }
    }
  }
}

const arrivals: Limit = {
  name: 'new connections per second',
  scope: 'rule',
  reason: 'new_connections_per_sec',
  rateLimit: () => ({ new_connections_per_sec: 1, new_connections_burst: 3 }),
  monthlyBytes: null,
  stayUnder: async ({ dial }) => void (await times(3, () => dial().echo(500))),
  async exceed(rule) {
    await times(12, () => attempt(rule))
    return { refused: { least: 5, most: 12 }, waitedMs: 0 } // the bucket has at most 3 tokens
  }
}

const monthlyBytes = 40_000
const overshootBytes = 64 * 1024

/** Bytes delivered in both directions, as counted by both ends. */
const delivered = (rule: TestRule): number => rule.received() + rule.echoed()

const quota: Limit = {
  name: 'byte budget',
  scope: 'owner',
  reason: 'traffic_quota_exhausted',
  rateLimit: () => null,
  monthlyBytes,
  stayUnder: ({ dial }) => dial().echo(2_000),
  async exceed(rule) {
    const caller = rule.dial()
    await caller.echo(100)
    caller.send(60 * datagramBytes)
    while (delivered(rule) < monthlyBytes) await retryDelay()
    await times(2, () => attempt(rule))
    if (rule.kind.protocol === 'udp') return { refused: { least: 3, most: unlimited }, waitedMs: 0 }
    await caller.ended // reset after the hold time
    return { refused: { least: 2, most: 2 }, waitedMs: 0 }
  },
  async check(t, rule, { call, clientId }) {
    const status = await call<{ exhausted: boolean; bytes_used: number }>(
      'GET',
      `/v1/users/${rule.owner}/quotas/${clientId}/status`
    )
    t.match(status, { exhausted: true, bytes_used: delivered(rule) }, 'the quota is exhausted')
    t.ok(
      delivered(rule) <= monthlyBytes + overshootBytes * rule.callers.length,
      'the quota is exceeded by at most the allowed overshoot'
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
