import { isDeepStrictEqual } from 'node:util'
import {
  type AgentPlugin,
  defineField,
  defineObjectKind,
  type ExplainStep,
  type MeterLimits
} from '../../agent/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import {
  capability,
  EnvelopeRemove,
  EnvelopeRequired,
  EnvelopeSet,
  envelopeKind,
  key,
  Limits,
  maxWaits,
  messages,
  requiredKey,
  Throttled,
  unsupportedCode,
  type Wait
} from './wire.ts'

const everyMs = 5_000

/** The key of a meter: its scope, and the id of the rule or owner. */
const meterKey = (scope: Wait['scope'], id: string): string => `${scope} ${id}`

const refusals = {
  rule: {
    connections: 'concurrent_connections',
    newConnections: 'new_connections_per_sec',
    bytes: 'bandwidth',
    budget: 'budget'
  },
  owner: {
    connections: 'owner_concurrent_connections',
    newConnections: 'owner_new_connections_per_sec',
    bytes: 'owner_bandwidth',
    budget: 'owner_budget'
  }
}

export default {
  name: 'rate-limit',
  agent: '^1.0.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  meters: ({ id, owner }) => [
    { key: meterKey('owner', owner), refusals: refusals.owner },
    { key: meterKey('rule', id), refusals: refusals.rule, isOwn: true }
  ],
  fields: [
    defineField({
      key,
      message: Limits,
      setMeters: (limits, { id }, meters) =>
        meters.setLimits(meterKey('rule', id), limits && toMeterLimits(limits))
    }),
    defineField({
      key: requiredKey,
      message: EnvelopeRequired,
      setMeters(required, { owner }, meters) {
        if (required && !meters.isLimited(meterKey('owner', owner)))
          throw new Refused(unsupportedCode, `the limits of owner ${owner} are not in force on this agent`)
      }
    })
  ],
  kinds: [
    defineObjectKind({
      kind: envelopeKind,
      isLimit: true,
      push: EnvelopeSet,
      readPush: ({ owner_id: id, revision }) => ({ id, revision }),
      remove: EnvelopeRemove,
      readRemove: ({ owner_id: id, revision }) => ({ id, revision, removal: 'cut' }),
      answer: (owner_id, revision) => ({ owner_id, revision }),
      isEqual: (envelope, other) => isDeepStrictEqual(envelope.limits, other.limits),
      async apply(owner, { limits }, { meters }) {
        meters.setLimits(meterKey('owner', owner), toMeterLimits(limits))
      },
      async withdraw(owner, _, { meters }) {
        meters.setLimits(meterKey('owner', owner), null)
        return { done: Promise.resolve() }
      }
    })
  ],
  explain({ path: { spec }, sample, refused }, { meters }) {
    return [{ scope: 'owner', id: spec.owner } as const, { scope: 'rule', id: spec.id } as const].flatMap(
      ({ scope, id }): ExplainStep[] => {
        const { limits, counters } = meters.find(meterKey(scope, id), sample) ?? {}
        if (!limits) return []
        const step = { kind: 'limit', id: meterKey(scope, id) } as const
        const { connections, newConnections } = refusals[scope]
        if (limits.connections !== null && (counters?.active ?? 0) >= limits.connections) {
          const text = `${counters?.active} of ${limits.connections} allowed connections are open: new ones are refused`
          return [{ ...step, verdict: 'stop', reason: connections, text }]
        }
        if (limits.newConnections && refused.get(newConnections)?.isLast) {
          const text = `more than ${limits.newConnections.perSec} new connections per second: the last one was refused`
          return [{ ...step, verdict: 'stop', reason: newConnections, text }]
        }
        return []
      }
    )
  },
  connected(stream, { meters, takeSample, clock }) {
    const reported = new Map<number, number>()
    const report = (): void => {
      const changed = takeSample().meters.filter(
        ({ id, throttledMs }) => throttledMs !== (reported.get(id) ?? 0)
      )
      const waits = changed.flatMap(({ id, throttledMs: ms }): Wait[] => {
        reported.set(id, ms)
        const [, scope, of] = /^(rule|owner) (.+)$/.exec(meters.keyOf(id) ?? '') ?? []
        return scope && of ? [{ scope: scope as Wait['scope'], id: of, ms }] : []
      })
      for (let at = 0; at < waits.length; at += maxWaits)
        stream.send(Throttled, { waits: waits.slice(at, at + maxWaits) })
    }
    stream.signal.addEventListener('abort', clock.every(everyMs, report), { once: true })
  }
} satisfies AgentPlugin

function toMeterLimits(limits: Limits): MeterLimits {
  const { bytes_in: bytesIn, bytes_out: bytesOut, connections, new_connections: newConnections } = limits
  return {
    bytesIn: toRate(bytesIn),
    bytesOut: toRate(bytesOut),
    connections: connections ?? null,
    newConnections: toRate(newConnections)
  }
}

const toRate = (rate: Limits['bytes_in']): MeterLimits['bytesIn'] =>
  rate ? { perSec: rate.per_sec, burst: rate.burst } : null
