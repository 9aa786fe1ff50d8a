// `sluice/plugin`: all that a plugin's server half builds on. What is not here may change from one release to the next.

// Tables, migrations, schemas and services come through here, so that both sides speak of the same library.
export { defineEntity, type InferEntity, p } from '@mikro-orm/core'
export { Migration } from '@mikro-orm/migrations'
export type { EntityManager } from '@mikro-orm/sql'
export { asFunction } from 'awilix'
export { type Static, type TSchema, Type } from 'typebox'
export { type Clock, timestamp } from '../kernel/base/clock.ts'
export { type Code, defineCode, Fault } from '../kernel/base/errors.ts'
export { newId } from '../kernel/base/id.ts'
export type { Log } from '../kernel/base/log.ts'
export { type Command, type CommandCall, defineCommand } from '../kernel/cli/command.ts'
export { defineKind, kindSlot } from '../kernel/control/held.ts'
export { type Connection, connectionSlot, type Peer } from '../kernel/control/peers.ts'
export { type Figure, figuresSlot } from '../kernel/figures.ts'
export { defineList } from '../kernel/http/listing.ts'
export { authenticatorSlot, decisionSlot, type Principal } from '../kernel/http/principal.ts'
export { type Call, defineRoute } from '../kernel/http/route.ts'
export { defineStream, type ServerEvent } from '../kernel/http/streaming.ts'
export { definePlugin, type Kernel, type PeerCall, type Plugin, type Scope } from '../kernel/plugin.ts'
export { defineSlot, type FilledBy, type Slot } from '../kernel/slot.ts'
export {
  answer,
  Bytes,
  type Capability,
  defineMessage,
  defineQuestion,
  Refused
} from '../kernel/wire/message.ts'
export * as clients from './clients/slots.ts'
export * as quota from './quota/slots.ts'
export * as rules from './rules/slots.ts'
export * as stats from './stats/slots.ts'
export * as users from './users/slots.ts'
