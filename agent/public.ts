// `sluice/agent-plugin`: all that a plugin's agent half builds on.
export { type Static, Type } from 'typebox'
export type { Metric } from '../kernel/base/metric.ts'
export { type Capability, defineMessage, defineRequest, Refused, respond } from '../kernel/wire/message.ts'
export type { Balance } from './engine/balance.ts'
export type { DialFrom } from './engine/dial-from.ts'
export type { Divert, DivertCounters, RefusalBeyond } from './engine/divert.ts'
export type { ConnectionEnd, EndedConnection } from './engine/ended-connection.ts'
export type { EngineEvent, Filter, Filters, Match, Meter, Rate } from './engine/engine.ts'
export type { FirstRead } from './engine/first-read.ts'
export type { ConnectionSort, OpenConnection } from './engine/open-connection.ts'
export type { Preamble, PreambleField, PreamblePart } from './engine/preamble.ts'
export {
  type AgentCall,
  type AgentCommand,
  type AgentConnections,
  type AgentDial,
  type AgentDialed,
  type AgentExits,
  type AgentField,
  type AgentHost,
  type AgentObjectKind,
  type AgentPaths,
  type AgentPhase,
  type AgentPlugin,
  type AgentQueue,
  type AgentScope,
  type AgentTime,
  type AskedCaller,
  type Closing,
  type ConnectionFilter,
  type ControlStream,
  type Dialed,
  type DialedConnection,
  type DialTiming,
  defineCommand,
  defineDerivedObject,
  defineField,
  defineObjectKind,
  defineTargetField,
  type Ejection,
  type EngineRuleDraft,
  type ExplainStep,
  type FieldRule,
  type MeterUse,
  type ObjectChange,
  type ReachedTarget,
  type RecentRefusals,
  type RulePath,
  type RuleSpec,
  type StatusRow,
  type TargetDial,
  type TargetEvent,
  type TargetShare,
  type TargetStanding
} from './plugin.ts'
export type { DeclaredObject } from './wire/derived-object.ts'
export type { DeclaredField } from './wire/rule-field.ts'
export type { DeclaredTargetField } from './wire/target-field.ts'
