// The parts of the agent plugin.
import type { Metric } from '../../kernel/metrics.ts'
import type { Writer } from './writer.ts'

export { type Config, config } from './config.ts'
export { openDestination } from './destination.ts'
export { formatLine } from './line.ts'
export { Writer } from './writer.ts'

export const toMetrics = ({ counts: { written, ...lost } }: Writer): Metric[] => [
  {
    name: 'lines_written_total',
    type: 'counter',
    help: 'Lines that the destination has taken.',
    labels: [],
    samples: [{ labelValues: [], value: written }]
  },
  {
    name: 'lines_lost_total',
    type: 'counter',
    help: 'Lines that were dropped: limited (max_lines_per_sec), failed (the destination), overrun (the engine).',
    labels: ['cause'],
    samples: Object.entries(lost).map(([cause, value]) => ({ labelValues: [cause], value }))
  }
]
