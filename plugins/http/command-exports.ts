// Exports for commands of other plugins. They load no server code.
export { csvText } from './list/csv-text.ts'
export {
  exactQuantity,
  formatQuantity,
  formatRate,
  formatSize,
  parseQuantity,
  quantityHelp,
  type Unit,
  unitOf
} from './list/quantity.ts'
export {
  addedArgs,
  addedBody,
  addedColumns,
  addedQuery,
  type ListOptions,
  listOptionSlots,
  type RecordOptions,
  recordOptionSlots
} from './list/record-slots.ts'
export { absoluteTime } from './list/time-argument.ts'
export { seesAll } from './roles.ts'
