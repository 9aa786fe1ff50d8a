import type { EntityManager } from '@mikro-orm/sql'
import { type Static, type TSchema, Type } from 'typebox'
import type { Call, Route, Schemas } from '../../../kernel/http/route.ts'
import type { SlotReader } from '../../../kernel/slot.ts'

/** The result of a list route: all rows, or a reader of pages. */
export type Listing<R> = readonly R[] | PagedRows<R>

export interface PagedRows<R> {
  /** Returns at most `take` rows by ascending key, above `after` ('' for the start). */
  page(after: string, take: number, em: EntityManager): Promise<readonly { key: string; row: R }[]>
}

interface ListRoute<D, Q extends TSchema, P extends TSchema, R extends TSchema>
  extends Pick<Route<D>, 'url' | 'action' | 'access' | 'summary' | 'description'> {
  schema(filled: SlotReader): Pick<Schemas, 'errors'> & {
    readonly query?: Q
    readonly params?: P
    readonly row: R
  }
  run(deps: D, call: Call<{ query: Q; params: P; reply: TSchema }>): Promise<Listing<Static<R>>>
}

/** Defines a GET that returns an array. The host adds `limit`, `cursor` and the Link header. */
export function defineList<D, R extends TSchema, Q extends TSchema = TSchema, P extends TSchema = TSchema>(
  list: ListRoute<D, Q, P, R>
): Route<D> {
  return {
    ...list,
    method: 'GET',
    status: 200,
    isList: true,
    schema(filled) {
      const { row, ...request } = list.schema(filled)
      return { ...request, reply: Type.Array(row) }
    },
    run: (deps, call) => list.run(deps, call as never)
  }
}
