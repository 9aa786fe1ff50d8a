// The parts of this plugin that commands of other plugins may use. Nothing of the server is loaded with them.
export * from './commands/document.ts'
export { pushOptions } from './commands/push-options.ts'
export { RuleArg, ruleIds } from './commands/rule-argument.ts'
export { type SavedRule, savedRules } from './commands/saved-rules.ts'
export { columnSlot, liveTrafficSlot, type PushOptions, pushOptionsSlot } from './slots.ts'
