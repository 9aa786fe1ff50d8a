// `sluice/agent-plugin`: all that a plugin's agent half builds on.
export { type Static, Type } from 'typebox'
export { answer, type Capability, defineMessage, defineQuestion, Refused } from '../kernel/wire/message.ts'
export type { EngineEvent, Filter, Filters, Match, Meter, Rate } from './engine.ts'
export {
  type AgentCall,
  type AgentField,
  type AgentKind,
  type AgentPlugin,
  type Draft,
  defineField,
  type MeterUse,
  type RuleSpec,
  type Stream
} from './plugin.ts'
