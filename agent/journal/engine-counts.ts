// The engine's counters under the names of the ledger.
import type { Counts } from '../../plugins/stats/wire.ts'
import type { Counters, PortCounters, TargetCounters } from '../engine.ts'

type PortCounter = 'bytesIn' | 'bytesOut' | 'datagramsIn' | 'datagramsOut'

export const ruleBytes = ({ ports }: Counters) => ({
  bytesIn: sum(ports, 'bytesIn'),
  bytesOut: sum(ports, 'bytesOut')
})

/** Of the whole rule, without its bytes and rejections. */
export const ruleCounts = ({ ports, ...rule }: Counters) => ({
  datagramsIn: sum(ports, 'datagramsIn'),
  datagramsOut: sum(ports, 'datagramsOut'),
  connections: rule.connectionsTotal,
  dnsFailures: rule.dnsFailures,
  failovers: rule.targetFailovers,
  overflows: rule.flowsDroppedOverflow
})

export const portCounts = ({
  bytesIn,
  bytesOut,
  datagramsIn,
  datagramsOut
}: PortCounters): Pick<Counts, PortCounter> => ({ bytesIn, bytesOut, datagramsIn, datagramsOut })

export const targetCounts = ({ bytesIn, bytesOut, connectionsTotal }: TargetCounters) => ({
  bytesIn,
  bytesOut,
  connections: connectionsTotal
})

const sum = (ports: readonly PortCounters[], counter: PortCounter): number =>
  ports.reduce((total, port) => total + port[counter], 0)
