import { type Static, type TSchema, Type } from 'typebox'
import type { Call, Route, Schemas } from '../../../kernel/http/route.ts'
import type { SlotReader } from '../../../kernel/slot.ts'

/** One server-sent event (WHATWG HTML, 9.2). */
export interface ServerEvent<E> {
  readonly event: string
  readonly data: E
}

interface StreamRoute<D, Q extends TSchema, P extends TSchema, E extends TSchema>
  extends Pick<Route<D>, 'url' | 'action' | 'access' | 'summary' | 'description'> {
  schema(filled: SlotReader): Pick<Schemas, 'errors'> & {
    readonly query?: Q
    readonly params?: P
    readonly event: E
  }
  /** Throws before the first event to refuse. Must end when `signal` aborts, for example after a loss of access. */
  run(
    deps: D,
    call: Call<{ query: Q; params: P; reply: TSchema }>
  ): Promise<AsyncIterable<ServerEvent<Static<E>>>>
}

/** Defines a GET that returns server-sent events. The host adds ids and keep-alives, and checks access. */
export function defineStream<D, E extends TSchema, Q extends TSchema = TSchema, P extends TSchema = TSchema>(
  stream: StreamRoute<D, Q, P, E>
): Route<D> {
  return {
    ...stream,
    method: 'GET',
    status: 200,
    isStream: true,
    schema(filled) {
      const { event, ...request } = stream.schema(filled)
      return { ...request, reply: Type.Object({ event: Type.String(), data: event }) }
    },
    run: (deps, call) => stream.run(deps, call as never) as Promise<never>
  }
}
