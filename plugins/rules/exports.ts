// What other plugins may use of rules.
export * from './document.ts'
export { ruleKey } from './entities.ts'
export { requireClient } from './find-client.ts'
export type { RuleRecord } from './record.ts'
export * from './rule-field.ts'
export * from './service.ts'
export * from './slots.ts'
export { ruleKind } from './wire.ts'
