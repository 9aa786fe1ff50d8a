// Live connections as events. Each question is asked once a second, for all who watch the same; else nobody is asked.
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import type { ServerEvent } from '../http/exports.ts'
import type { Looking, Meant, Services } from './look.ts'
import { openRounds } from './rounds.ts'
import type { ConnectionsEvent, Filter, StreamQuery } from './schema.ts'

const everyMs = 1_000

type Events = AsyncGenerator<ServerEvent<ConnectionsEvent>>

/** One question, and those who wait for its next answer; null: they have left. */
class Watch {
  streams = 0
  readonly waiting = new Set<PromiseWithResolvers<ConnectionsEvent | null>>()

  /** Resolves with the next answer, or with null when the signal aborts. One that is slow misses answers. */
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

/** Returns the function that opens a stream of events, which ends when its signal aborts. */
export function openWatches(
  services: Services,
  look: Looking,
  meant: (filter: Filter, principal: Principal, em: EntityManager) => Promise<Meant>
) {
  const active = new Map<string, Watch>()

  function begin(
    key: string,
    { sort = 'age', limit = 100, ...filter }: StreamQuery,
    principal: Principal
  ): Watch {
    const watch = new Watch()
    const round = openRounds(services, look, { sort, limit, meant: em => meant(filter, principal, em) })
    const run = async (): Promise<void> => {
      while (watch.streams > 0) {
        const rest = Promise.withResolvers<void>()
        services.clock.after(everyMs, rest.resolve)
        const answer = await round().catch((error: unknown) => ({ error }))
        for (const { resolve, reject } of watch.waiting)
          if ('error' in answer)
            reject(answer.error) // ends its stream
          else resolve(answer)
        await rest.promise
      }
    }
    active.set(key, watch)
    queueMicrotask(() => void run()) // its first stream is counted and waits
    return watch
  }

  return async function* watch(query: StreamQuery, principal: Principal, signal: AbortSignal): Events {
    // Superadmins see the same; of the others each one his own.
    const who = principal.role === 'superadmin' ? null : principal.userId
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
