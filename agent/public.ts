// `sluice/agent-plugin`: all that a plugin's agent half builds on.
export { type Static, Type } from 'typebox'
export type { Metric } from '../kernel/base/metric.ts'
export { type Capability, defineMessage, defineRequest, Refused, respond } from '../kernel/wire/message.ts'
export type { Balance } from './engine/balance.ts'
export type { DialFrom } from './engine/dial-from.ts'
export type { ConnectionEnd, EndedConnection } from './engine/ended-connection.ts'
export type { EngineEvent, Filter, Filters, Match, Meter, Rate } from './engine/engine.ts'
export type { FirstRead } from './engine/first-read.ts'
export type { ConnectionSort, OpenConnection } from './engine/open-connection.ts'
export type { Preamble, PreambleField, PreamblePart } from './engine/preamble.ts'
export {
  type AgentCall,
  type AgentCommand,
  type AgentConnections,
  type AgentField,
  type AgentObjectKind,
  type AgentPaths,
  type AgentPlugin,
  type AgentQueue,
  type AgentTime,
  type AskedCaller,
  type Closing,
  type ConnectionFilter,
  type ControlStream,
  defineCommand,
  defineField,
  defineObjectKind,
  type Ejection,
  type EngineRuleDraft,
  type ExplainStep,
  type FieldRule,
  type MeterUse,
  type ObjectChange,
  type RecentRefusals,
  type RulePath,
  type RuleSpec,
  type TargetEvent,
  type TargetShare,
  type TargetStanding
} from './plugin.ts'
export type { DeclaredField } from './wire/rule-field.ts'
