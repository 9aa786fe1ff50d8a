// Exports for commands of other plugins. They load no server code.

export type { DeliveryOptions } from './api/delivery-options.ts'
export { columnSlot, liveTrafficSlot, type PushOptions, pushOptionsSlot } from './command-slots.ts'
export * from './commands/document.ts'
export {
  findRule,
  findRuleId,
  parsePlace,
  RuleArg,
  requireExisting,
  ruleValues
} from './commands/find-rule.ts'
export { pushOptions } from './commands/push-options.ts'
export { deliveryArgs } from './commands/request-parts.ts'
export type { SavedRule } from './commands/saved-rules.ts'

/** Loads the module that reads saved rules. Few commands need it, and it loads the codec. */
export const loadSavedRules = () => import('./commands/saved-rules.ts')
