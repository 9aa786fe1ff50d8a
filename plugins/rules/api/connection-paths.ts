// Live connections to targets that other clients dial: the properties of their rows, and a filter.
import type { EntityManager } from '@mikro-orm/sql'
import type { TProperties, TSchema } from 'typebox'
import type { Principal } from '../../../kernel/http/principal.ts'
import { defineSlot } from '../../../kernel/slot.ts'

/** A connection of a rule on the client. `path`: of the planned target at its agent; null: none. */
export interface CarriedConnection {
  readonly clientId: string
  readonly path: string | null
}

export interface ConnectionPaths {
  /** Properties of each row. */
  readonly properties: TProperties
  /** Returns their values, in the order of the connections. */
  show(
    connections: readonly CarriedConnection[],
    em: EntityManager
  ): Promise<readonly Readonly<Record<string, unknown>>[]>
  readonly parameter: string // of lists
  readonly schema: TSchema
  /**
   * Returns words: connections with one of them in their path match the value of the filter. None: no connection matches, or
   * the caller must not see the object.
   */
  words(value: string, caller: Principal, em: EntityManager): Promise<readonly string[]>
}

export const connectionPathsSlot = defineSlot<ConnectionPaths>('connections.paths', {
  ifOwnerMissing: 'inert',
  keyOf: () => 'path'
})
