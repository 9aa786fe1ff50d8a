// `sluice/plugin`: all that a plugin's server half builds on. What is not here may change from one release to the next.

// Libraries for tables, migrations, schemas and services: plugin and server must use the same copy of each.
export { defineEntity, type InferEntity, p } from '@mikro-orm/core'
export { Migration } from '@mikro-orm/migrations'
export type { EntityManager } from '@mikro-orm/sql'
export { asFunction } from 'awilix'
export { type Static, type TSchema, Type } from 'typebox'
export { type DeclaredObject, objectMessages } from '../agent/wire/derived-object.ts'
export { type DeclaredField, fieldMessage } from '../agent/wire/rule-field.ts'
export { type DeclaredTargetField, targetFieldMessage } from '../agent/wire/target-field.ts'
export { type Clock, timestamp } from '../kernel/base/clock.ts'
export { defineCode, type ErrorCode, Fault } from '../kernel/base/errors.ts'
export type { Log } from '../kernel/base/log.ts'
export { type Command, type CommandCall, defineCommand } from '../kernel/cli/command.ts'
export { defineObjectKind, objectKindSlot } from '../kernel/control/managed-objects.ts'
export { type ConnectionHooks, connectionSlot, type Peer } from '../kernel/control/peers.ts'
export {
  type Authenticator,
  authenticatorSlot,
  type Principal,
  type Role
} from '../kernel/http/principal.ts'
export { type Call, defineRoute, type Media } from '../kernel/http/route.ts'
export { type Metric, metricsSlot } from '../kernel/metrics.ts'
export { newId } from '../kernel/platform/id.ts'
export { definePlugin, type Kernel, type PeerCall, type Plugin, type Scope } from '../kernel/plugin.ts'
export { defineSlot, type Slot, type SlotReader } from '../kernel/slot.ts'
export { afterCommit } from '../kernel/store/after-commit.ts'
export { type Revocation, revocationSlot } from '../kernel/store/revocation.ts'
export { noteRevoked } from '../kernel/store/sql/store-watch.ts'
export {
  Bytes,
  type Capability,
  defineMessage,
  defineRequest,
  Refused,
  respond
} from '../kernel/wire/message.ts'
export type { Setup, SignedIn, SignIn, SignInCall } from './auth/exports.ts'
export * as auth from './auth/exports.ts'
export { type ErrorExplanation, errorExplanationSlot } from './cli/error-explanation.ts'
export * as clients from './clients/exports.ts'
export {
  type ConsoleApi,
  type ConsoleCard,
  type ConsoleContext,
  type ConsoleElement,
  type ConsolePage,
  type ConsoleStep,
  consoleCardSlot,
  consolePageSlot,
  consoleStepSlot,
  type StepElement
} from './console/exports.ts'
export * as grants from './grants/exports.ts'
export {
  type Act,
  type ActCall,
  type Assets,
  type ChangeEach,
  type Decision,
  type DecisionSink,
  type DocumentSchema,
  decisionSlot,
  defineList,
  defineStream,
  documentSchemaSlot,
  type Expiring,
  type ExpiryPage,
  type ExpirySource,
  expirySlot,
  FormFile,
  type GivenField,
  Html,
  html,
  type ListFilter,
  type ListOptions,
  listFilterSlots,
  listOptionSlots,
  managesAll,
  managesUsers,
  type Notice,
  type NoticeSource,
  type NoticeSubject,
  type Notices,
  noticeKind,
  openAssets,
  openNetworks,
  page,
  type RecordField,
  type RecordNames,
  type RecordOptions,
  recordFieldSlots,
  recordNamesSlot,
  recordOptionSlots,
  type ServerEvent,
  type SqlCondition,
  seesAll
} from './http/exports.ts'
export * as quota from './quota/exports.ts'
export * as rules from './rules/exports.ts'
export type { Secrets } from './secrets/exports.ts'
export * as stats from './stats/exports.ts'
export * as users from './users/exports.ts'
