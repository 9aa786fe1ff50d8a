import type { EntityManager } from '@mikro-orm/sql'
import { type Static, type TSchema, Type } from 'typebox'
import type { SlotReader } from '../slot.ts'
import type { Call, Route, Schemas } from './route.ts'

/** What a list route answers: either all its rows, or where they lie, and the host reads one page of them. */
export type Listing<R> = readonly R[] | PagedRows<R>

export interface PagedRows<R> {
  /** One page, in ascending order of the key: rows whose key is above `after` (null: from the start), `take` at most. */
  page(after: string | null, take: number, em: EntityManager): Promise<readonly { key: string; row: R }[]>
}

interface ListRoute<D, Q extends TSchema, P extends TSchema, R extends TSchema>
  extends Pick<Route<D>, 'url' | 'action' | 'access' | 'summary'> {
  schema(filled: SlotReader): { readonly query?: Q; readonly params?: P; readonly row: R }
  run(deps: D, call: Call<{ query: Q; params: P; reply: TSchema }>): Promise<Listing<Static<R>>>
}

/** A GET that answers an array. `limit`, `cursor` and the Link header are the host's work, once for all lists. */
export function defineList<D, R extends TSchema, Q extends TSchema = TSchema, P extends TSchema = TSchema>(
  list: ListRoute<D, Q, P, R>
): Route<D> {
  const route: Route<D, Schemas> = {
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
  return route
}
