// The parts of this plugin that commands of other plugins may use. Nothing of the server is loaded with them.
export { RuleArg, ruleIds } from './rule-argument.ts'
export { columnSlot, type PushOptions, pushOptionsSlot } from './slots.ts'
