/** The column names of `sluice top`, in their own file so that other commands load only this. */
export const columnNames = [
  'source',
  'target',
  'owner',
  'in/s',
  'out/s',
  'age',
  'idle',
  'client',
  'bytes',
  'held_by',
  'divert',
  'rtt',
  'resent',
  'proto',
  'listen',
  'rule'
] as const
export type ColumnName = (typeof columnNames)[number]
