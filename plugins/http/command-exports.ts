// The parts of this plugin that commands of other plugins may use. Nothing of the server is loaded with them.
export {
  addedArgs,
  addedBody,
  addedColumns,
  addedQuery,
  type ListOptions,
  listOptionSlots,
  type RecordOptions,
  recordFieldSlots,
  recordOptionSlots
} from './list/record-slots.ts'
export { absoluteTime } from './list/time-argument.ts'
