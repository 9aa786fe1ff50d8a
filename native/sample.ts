// Reads counters from a row of numbers, which is cheaper to pass than objects. `Engine::write_sample` writes it.
import type { DivertCounters } from '../agent/engine/divert.ts'
import type { EndedConnection, SocketAddress } from '../agent/engine/ended-connection.ts'
import { connectionEnds } from '../agent/engine/ended-connection.ts'
import type {
  Counters,
  Health,
  HealthSource,
  MeterCounters,
  PortCounters,
  Sample,
  TargetCounters
} from '../agent/engine/engine.ts'
import { peekBoundsMs } from '../agent/engine/engine.ts'
import type { OpenConnections } from '../agent/engine/open-connection.ts'

/** Health states, in the order of `TargetHealth::State`. */
export const healths: readonly Health[] = ['unknown', 'healthy', 'failed']

/** In the order of `TargetHealth::Source`. */
const healthSources: readonly HealthSource[] = ['traffic', 'probe']

/** Returns the next number of the row. */
type Next = () => number
export type ReasonOf = (reason: number) => string

const rowReader = (row: Float64Array): Next => {
  let index = 0
  return () => {
    const value = row[index++]
    if (value === undefined) throw new RangeError('the native engine sent too short a row of counters')
    return value
  }
}

const repeat = <T>(count: number, read: () => T): T[] => Array.from({ length: count }, read)
const timeOrNull = (ms: number): number | null => (ms < 0 ? null : ms)

const readPort = (next: Next): PortCounters => ({
  port: next(),
  bytesIn: next(),
  bytesOut: next(),
  datagramsIn: next(),
  datagramsOut: next(),
  active: next()
})

const readTarget = (next: Next, reasonOf: ReasonOf): TargetCounters => ({
  bytesIn: next(),
  bytesOut: next(),
  connectionsTotal: next(),
  active: next(),
  health: healths[next()] ?? 'unknown',
  consecutiveFailures: next(),
  failures: next(),
  connects: next(),
  connectMs: next(),
  lastFailureAt: timeOrNull(next()),
  lastSuccessAt: timeOrNull(next()),
  lastFailure: reasonOf(next()) || null,
  lastSource: healthSources[next()] ?? 'traffic'
})

const readDivert = (next: Next, reasonOf: ReasonOf): DivertCounters => ({
  name: reasonOf(next()),
  bytesIn: next(),
  bytesOut: next(),
  connectionsTotal: next(),
  active: next()
})

const readMeter = (next: Next): MeterCounters => ({
  id: next(),
  bytesIn: next(),
  bytesOut: next(),
  active: next(),
  throttledMs: next()
})

function readRule(next: Next, reasonOf: ReasonOf): Counters {
  const ruleId = next()
  const ports = next()
  const targets = next()
  const rejected = next()
  const diverts = next()
  return {
    ruleId,
    connectionsTotal: next(),
    dnsFailures: next(),
    targetFailovers: next(),
    flowsDroppedOverflow: next(),
    ports: repeat(ports, () => readPort(next)),
    targets: repeat(targets, () => readTarget(next, reasonOf)),
    rejected: Object.fromEntries(repeat(rejected, () => [reasonOf(next()), next()])),
    diverts: repeat(diverts, () => readDivert(next, reasonOf))
  }
}

export const readCounters = (row: Float64Array, reasonOf: ReasonOf): Counters =>
  readRule(rowReader(row), reasonOf)

export function readSample(row: Float64Array, reasonOf: ReasonOf): Sample {
  const next = rowReader(row)
  return {
    rules: repeat(next(), () => readRule(next, reasonOf)),
    meters: repeat(next(), () => readMeter(next)),
    peekDurations: { counts: repeat(peekBoundsMs.length + 1, next), sumMs: next() },
    eventsDropped: next()
  }
}

/** Reads a page of open connections. `text` has four lines per row: source, listen and target address, name of the divert. */
export function readConnections(row: Float64Array, text: string): OpenConnections {
  const next = rowReader(row)
  const lines = text.split('\n').values()
  const readAddress = addressReader(lines, next)
  const readLeg = () => {
    const rttUs = next()
    const retransmits = next()
    return rttUs < 0 ? null : { rttMs: rttUs / 1000, retransmits }
  }
  const matched = next()
  const bytesIn = next()
  const bytesOut = next()
  const rows = repeat(next(), () => {
    const source = readAddress()
    const listen = readAddress()
    const target = { ...readAddress(), index: next() }
    const divert = lines.next().value || null
    return {
      source,
      listen,
      target: target.index < 0 ? null : target,
      divert,
      id: next(),
      key: next(),
      ruleId: next(),
      ageMs: next(),
      idleMs: next(),
      bytesIn: next(),
      bytesOut: next(),
      heldBy: idOrNull(next()),
      caller: readLeg(),
      targetLeg: readLeg()
    }
  })
  return { matched, bytesIn, bytesOut, rows }
}

const idOrNull = (id: number): number | null => (id < 0 ? null : id)

const addressReader =
  (lines: Iterator<string, unknown>, next: Next): (() => SocketAddress) =>
  () => ({ address: String(lines.next().value ?? ''), port: next() })

/** Reads the records of 'connections-ended'. `text` has five lines per record: three addresses, server name, name of the divert. */
export function readEnded(row: Float64Array, text: string, reasonOf: ReasonOf): readonly EndedConnection[] {
  const next = rowReader(row)
  const lines = text.split('\n').values()
  const readAddress = addressReader(lines, next)
  return repeat(next(), () => {
    const source = readAddress()
    const listen = readAddress()
    const { address, port } = readAddress()
    const serverName = lines.next().value || null
    const divert = lines.next().value || null
    const index = next()
    return {
      ruleId: next(),
      source,
      listen,
      target: index < 0 ? null : { address, port, index },
      serverName,
      divert,
      openedAt: next(),
      durationMs: next(),
      bytesIn: next(),
      bytesOut: next(),
      end: connectionEnds[next()] ?? 'dial_failed',
      refusal: reasonOf(next()) || null
    }
  })
}
