// Streams open connections as events. Equal queries share one poll per second; without streams there is no poll.
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import type { ServerEvent } from '../http/exports.ts'
import { seesAll } from '../http/exports.ts'
import type { ClientQuery, ResolvedFilter, Services } from './client-query.ts'
import { openPollRound } from './poll-round.ts'
import type { ConnectionsEvent, Filter, StreamQuery } from './schema.ts'

const pollMs = 1_000

type Events = AsyncGenerator<ServerEvent<ConnectionsEvent>>

/** A shared query and the streams that wait for its next answer. A stream that has left gets null. */
class Watch {
  streams = 0
  readonly waiting = new Set<PromiseWithResolvers<ConnectionsEvent | null>>()

  /** Resolves with the next answer, or null when the signal aborts. A slow reader skips answers. */
  async next(signal: AbortSignal): Promise<ConnectionsEvent | null> {
    const turn = Promise.withResolvers<ConnectionsEvent | null>()
    const leave = (): void => turn.resolve(null)
    signal.addEventListener('abort', leave)
    this.waiting.add(turn)
    try {
      return signal.aborted ? null : await turn.promise
    } finally {
      this.waiting.delete(turn)
      signal.removeEventListener('abort', leave)
    }
  }
}

/** Returns a function that opens a stream of events, which ends when its signal aborts. */
export function openConnectionWatches(
  services: Services,
  query: ClientQuery,
  resolveFilter: (filter: Filter, principal: Principal, em: EntityManager) => Promise<ResolvedFilter>
) {
  const active = new Map<string, Watch>()

  function begin(
    key: string,
    { sort = 'age', limit = 100, ...filter }: StreamQuery,
    principal: Principal
  ): Watch {
    const watch = new Watch()
    const round = openPollRound(services, query, {
      sort,
      limit,
      resolve: em => resolveFilter(filter, principal, em)
    })
    const run = async (): Promise<void> => {
      while (watch.streams > 0) {
        const rest = Promise.withResolvers<void>()
        services.clock.after(pollMs, rest.resolve)
        const answer = await round().catch((error: unknown) => ({ error }))
        for (const { resolve, reject } of watch.waiting)
          if ('error' in answer)
            reject(answer.error) // ends its stream
          else resolve(answer)
        await rest.promise
      }
    }
    active.set(key, watch)
    queueMicrotask(() => void run()) // after the first stream has joined
    return watch
  }

  return async function* watch(query: StreamQuery, principal: Principal, signal: AbortSignal): Events {
    // Superadmins share a watch; other users have their own.
    const who = seesAll(principal) ? null : principal.userId
    const key = JSON.stringify([who, Object.entries(query).sort()])
    const watch = active.get(key) ?? begin(key, query, principal)
    watch.streams++
    try {
      for (let data = await watch.next(signal); data; data = await watch.next(signal))
        yield { event: 'connections', data }
    } finally {
      watch.streams--
      if (watch.streams === 0) active.delete(key)
    }
  }
}
