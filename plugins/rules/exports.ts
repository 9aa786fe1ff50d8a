// What other plugins may use of rules.
export {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  type DocumentKind,
  documentKindSlot,
  hasSameBody,
  withoutNull
} from './document.ts'
export { ruleKey } from './entities.ts'
export { requireClient } from './find-client.ts'
export type { RuleRecord } from './record.ts'
export {
  type CapabilityRequirement,
  type DerivedField,
  derivedField,
  derivedFieldSlot,
  type FrozenField,
  fieldUnsupported,
  type HotField,
  type RuleCore,
  type RuleDraft,
  type RuleField,
  type RuleOwnership,
  ruleField,
  ruleFieldSlot
} from './rule-field.ts'
export { type AfterCommit, type RuleCount, type Rules, ruleNotFound } from './service.ts'
export {
  type Admission,
  admitSlot,
  clientNotGranted,
  columnSlot,
  liveTrafficSlot,
  type PortSharing,
  type PushOptions,
  portSharingSlot,
  pushOptionsSlot,
  type RuleWithFields,
  removedSlot,
  type ShapeSupport,
  type StateChange,
  shapeSlot,
  stateSlot,
  type TargetView,
  targetViewSlot
} from './slots.ts'
export { ruleKind } from './wire.ts'
