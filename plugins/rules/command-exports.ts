// The parts of this plugin that commands of other plugins may use. Nothing of the server is loaded with them.
export * from './document.ts'
export { RuleArg, ruleIds } from './rule-argument.ts'
export { columnSlot, liveTrafficSlot, type PushOptions, pushOptionsSlot } from './slots.ts'
