// Streams open connections as events. Equal queries share one poll per second; without streams there is no poll. The polls
// of a user are spread by their rows: many answers in one turn would stop the event loop.
import type { Principal } from '../../kernel/http/principal.ts'
import type { ServerEvent } from '../http/exports.ts'
import { seesAll } from '../http/exports.ts'
import type { ClientQuery, Services } from './client-query.ts'
import { openPollRound } from './poll-round.ts'
import type { ResolveFilter } from './resolve-filter.ts'
import type { ConnectionsEvent, StreamQuery } from './schema.ts'

const pollMs = 1_000
const pollCostMs = 30 // between the polls of a user, which then take about a tenth of a processor
const rowCostMs = 0.2
const burstMs = 100 // of these costs at once: four polls of a few rows

type Events = AsyncGenerator<ServerEvent<ConnectionsEvent>>

/** A shared query and the streams that wait for its next answer. A stream that has left gets null. */
class Watch {
  streams = 0
  readonly who: string | null // null: superadmins
  readonly waiting = new Set<PromiseWithResolvers<ConnectionsEvent | null>>()

  constructor(who: string | null) {
    this.who = who
  }

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

/** Spreads the polls of each user. The caller tells about how many rows a poll will have. */
function openSpread(clock: Services['clock']) {
  const ends = new Map<string | null, number>() // of the polls of a user if each took its cost, monotonic

  return {
    async wait(who: string | null, rows: number): Promise<void> {
      const now = clock.monotonic()
      const at = Math.max(now, ends.get(who) ?? 0)
      ends.set(who, at + pollCostMs + rows * rowCostMs)
      const waitMs = at - now - burstMs
      if (waitMs > 0) await new Promise<void>(resolve => clock.after(waitMs, resolve))
    },
    forget: (who: string | null) => void ends.delete(who)
  }
}

/** Returns a function that opens a stream of events, which ends when its signal aborts. */
export function openConnectionWatches(services: Services, query: ClientQuery, resolveFilter: ResolveFilter) {
  const active = new Map<string, Watch>()
  const spread = openSpread(services.clock)

  function end(key: string, { who }: Watch): void {
    active.delete(key)
    if (!active.values().some(watch => watch.who === who)) spread.forget(who)
  }

  function begin(
    key: string,
    who: string | null,
    { sort = 'age', limit = 100, ...filter }: StreamQuery,
    principal: Principal
  ): Watch {
    const watch = new Watch(who)
    const round = openPollRound(services, query, {
      sort,
      limit,
      resolve: em => resolveFilter(filter, principal, em)
    })
    const run = async (): Promise<void> => {
      let rows: number = limit
      while (watch.streams > 0) {
        const rest = Promise.withResolvers<void>()
        services.clock.after(pollMs, rest.resolve)
        await spread.wait(who, rows)
        const answer = await round().catch((error: unknown) => ({ error }))
        for (const { resolve, reject } of watch.waiting)
          if ('error' in answer)
            reject(answer.error) // ends its stream
          else resolve(answer)
        if ('connections' in answer) rows = answer.connections.length
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
    const watch = active.get(key) ?? begin(key, who, query, principal)
    watch.streams++
    try {
      for (let data = await watch.next(signal); data; data = await watch.next(signal))
        yield { event: 'connections', data }
    } finally {
      watch.streams--
      if (watch.streams === 0) end(key, watch)
    }
  }
}
