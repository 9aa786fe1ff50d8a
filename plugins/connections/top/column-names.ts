/** The names of the columns of `sluice top`. Apart from these, so that other commands start without the rest. */
export const columnNames = [
  ...(['source', 'target', 'owner', 'in/s', 'out/s', 'age', 'idle', 'client', 'bytes', 'held_by'] as const),
  ...(['rtt', 'resent', 'proto', 'listen', 'rule'] as const)
] as const
export type ColumnName = (typeof columnNames)[number]
