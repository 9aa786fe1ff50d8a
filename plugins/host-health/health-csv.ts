import { csvText } from '../http/command-exports.ts'
import type { Sample } from './schema.ts'

const columns = [
  'at',
  'cpu_percent',
  'memory_used_bytes',
  'memory_total_bytes',
  'open_descriptors',
  'rtt_ms'
] as const

export const healthCsv = (samples: readonly Sample[]): string => csvText(columns, samples)
