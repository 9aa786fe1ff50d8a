// The replies as comma-separated values, for routes and commands.
import { csvText } from '../http/command-exports.ts'
import { columns } from './counts.ts'
import type { TopRow, Traffic } from './schema.ts'

export const trafficCsv = ({ samples }: Pick<Traffic, 'samples'>): string =>
  csvText(['ts', ...columns], samples)

export const topCsv = (rows: readonly TopRow[]): string =>
  csvText(['key', 'name', 'bytes_in', 'bytes_out', 'connections', 'refused'], rows)
