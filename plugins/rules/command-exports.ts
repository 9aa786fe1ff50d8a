// Exports for commands of other plugins. They load nothing of the server.
export * from './commands/document.ts'
export { pushOptions } from './commands/push-options.ts'
export { RuleArg, ruleIds } from './commands/rule-argument.ts'
export { type SavedRule, savedRules } from './commands/saved-rules.ts'
export { columnSlot, liveTrafficSlot, type PushOptions, pushOptionsSlot } from './slots.ts'
