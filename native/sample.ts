// Counters arrive as one row of numbers, which costs less than objects; `Engine::write_sample` writes it.
import type {
  Counters,
  Health,
  MeterCounters,
  PortCounters,
  Sample,
  TargetCounters
} from '../agent/engine.ts'
import { peekBoundsMs } from '../agent/engine.ts'

/** In the order of `Health::State`. */
export const healths: readonly Health[] = ['unknown', 'healthy', 'failed']

/** Reads one number after the other. */
type Next = () => number
export type ReasonOf = (reason: number) => string

const openRow = (row: Float64Array): Next => {
  let at = 0
  return () => {
    const value = row[at++]
    if (value === undefined) throw new RangeError('the native engine has told less than it announced')
    return value
  }
}

const repeat = <T>(count: number, read: () => T): T[] => Array.from({ length: count }, read)
const timeOf = (ms: number): number | null => (ms < 0 ? null : ms)

const readPort = (next: Next): PortCounters => ({
  port: next(),
  bytesIn: next(),
  bytesOut: next(),
  datagramsIn: next(),
  datagramsOut: next(),
  active: next()
})

const readTarget = (next: Next): TargetCounters => ({
  bytesIn: next(),
  bytesOut: next(),
  connectionsTotal: next(),
  health: healths[next()] ?? 'unknown',
  consecutiveFailures: next(),
  lastFailureAt: timeOf(next()),
  lastSuccessAt: timeOf(next())
})

const readMeter = (next: Next): MeterCounters => ({
  id: next(),
  bytesIn: next(),
  bytesOut: next(),
  active: next(),
  throttledMs: next()
})

function readRule(next: Next, reasonOf: ReasonOf): Counters {
  const [ruleId, ports, targets, rejected] = [next(), next(), next(), next()]
  return {
    ruleId,
    connectionsTotal: next(),
    dnsFailures: next(),
    targetFailovers: next(),
    flowsDroppedOverflow: next(),
    ports: repeat(ports, () => readPort(next)),
    targets: repeat(targets, () => readTarget(next)),
    rejected: Object.fromEntries(repeat(rejected, () => [reasonOf(next()), next()]))
  }
}

export const readCounters = (row: Float64Array, reasonOf: ReasonOf): Counters =>
  readRule(openRow(row), reasonOf)

export function readSample(row: Float64Array, reasonOf: ReasonOf): Sample {
  const next = openRow(row)
  return {
    rules: repeat(next(), () => readRule(next, reasonOf)),
    meters: repeat(next(), () => readMeter(next)),
    peekDurations: { counts: repeat(peekBoundsMs.length + 1, next), sumMs: next() },
    eventsDropped: next()
  }
}
