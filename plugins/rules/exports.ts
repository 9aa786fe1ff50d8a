// Exports for other plugins.

export * from './api/connection-paths.ts'
export { type DeliveryOptions, deliveryOptions } from './api/delivery-options.ts'
export * from './api/explainer.ts'
export * from './api/path-explainer.ts'
export { protocolName, toProtocol } from './api/protocol-name.ts'
export type { RuleRecord } from './api/rule-record.ts'
export { portInUse } from './changes/insert-rules.ts'
export { nameHolder } from './changes/name-holder.ts'
export { validationProtocol } from './changes/parse-draft.ts'
export { type ClientScope, findClient, requireClient } from './changes/placement.ts'
export { ruleNotFound } from './codes.ts'
export * from './command-slots.ts'
export * from './commands/document.ts'
export { pushOptions } from './commands/push-options.ts'
export * from './delivery/refused-rows.ts'
export type { AfterCommit } from './delivery/rule-states.ts'
export * from './derived/derived-object.ts'
export { type ExitTargetLimits, exitsOf } from './derived/exit-targets.ts'
export { type Protocol, type Rule, ruleKey } from './entities.ts'
export { fieldValues, targetValues } from './fields/field-storage.ts'
export { normalizePrefix } from './fields/normalize-prefix.ts'
export { ownerLimitField } from './fields/owner-limit-field.ts'
export { clientNotConnected } from './fields/requirements.ts'
export * from './fields/rule-field.ts'
export {
  type LoadedTargetField,
  type TargetField,
  type TargetPlace,
  type TargetValues,
  targetField,
  targetFieldSlot
} from './fields/target-field.ts'
export { agentOrder } from './fields/target-values.ts'
export { type JournalEntry, journalEntrySlot, journalKindSlot } from './journal-entry.ts'
export type { Rules } from './rules.ts'
export * from './slots.ts'
export { ruleKind } from './wire.ts'
