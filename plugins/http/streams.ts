// Server-sent events: as long as the caller is there and may see them.
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { attributionOf } from '../../kernel/base/attribution.ts'
import { Fault, rateLimited } from '../../kernel/base/errors.ts'
import type { Call, Route } from '../../kernel/http/route.ts'
import type { ServerEvent } from '../../kernel/http/stream-route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { HttpOptions } from './http.ts'
import type { RequestContext } from './request-context.ts'

const maxPerPrincipal = 16
const commentMs = 15_000
const accessMs = 1_000
const maxUnreadBytes = 256 * 1024
const retryMs = 5_000 // what a caller waits before it comes again

type Events = AsyncIterable<ServerEvent<unknown>>

export interface Streams {
  /** `open` makes the events once there is room. Answers with the first byte. */
  begin(
    turn: RequestContext,
    reply: FastifyReply,
    gone: AbortController,
    open: () => Promise<Events>
  ): Promise<FastifyReply>
  /** The server stops: all of them end. */
  endAll(): void
}

export function openStreams(
  { clock, log }: Pick<HttpOptions, 'clock' | 'log'>,
  admit: (turn: RequestContext) => Promise<void>
): Streams {
  const live = new Map<string, Set<AbortController>>()

  function enter({ principal: { userId } }: RequestContext, gone: AbortController): void {
    const mine = live.get(userId) ?? new Set()
    if (mine.size >= maxPerPrincipal)
      throw new Fault(rateLimited, `${maxPerPrincipal} streams are open already; end one first`)
    live.set(userId, mine.add(gone))
    gone.signal.addEventListener('abort', () => {
      mine.delete(gone)
      if (mine.size === 0) live.delete(userId)
    })
  }

  /** A session that ended, a token that was revoked, a user who went: none of them says so by itself. */
  function watchAccess(turn: RequestContext, gone: AbortController): void {
    let isAsking = false
    const ask = async (): Promise<void> => {
      if (isAsking) return
      isAsking = true
      await admit({ ...turn }).catch((error: unknown) => {
        if (!(error instanceof Fault))
          log.error('request.failed', String(error), { request_id: turn.requestId, ...attributionOf(error) })
        gone.abort()
      })
      isAsking = false
    }
    gone.signal.addEventListener(
      'abort',
      clock.every(accessMs, () => void ask())
    )
  }

  /** What a caller does not read piles up here, and not for long. */
  function bodyOf(events: Events, gone: AbortController): Readable {
    const body = new Readable({ read() {} })
    const say = (text: string): void => {
      if (body.readableLength > maxUnreadBytes) gone.abort()
      if (!gone.signal.aborted) body.push(text)
    }
    const cancel = clock.every(commentMs, () => say(': still here\n\n'))
    gone.signal.addEventListener('abort', () => {
      cancel()
      body.push(null)
    })
    say(`retry: ${retryMs}\n\n`)
    void tell(events, say).then(
      () => gone.abort(),
      error => body.destroy(error)
    )
    return body.once('close', () => gone.abort())
  }

  return {
    async begin(turn, reply, gone, open) {
      enter(turn, gone)
      const events = await open().catch(error => {
        gone.abort()
        throw error
      })
      watchAccess(turn, gone)
      return reply
        .type('text/event-stream')
        .headers({ 'x-accel-buffering': 'no', connection: 'close' }) // kept open it would hold up a stop of the server
        .send(bodyOf(events, gone))
    },
    endAll() {
      for (const gone of [...live.values()].flatMap(mine => [...mine])) gone.abort()
    }
  }
}

/** `defineStream` has made the route: its answer is its events. */
export const streamOf = (route: Route<Kernel>, deps: Kernel, call: Call): Promise<Events> =>
  route.run(deps, call) as Promise<unknown> as Promise<Events>

async function tell(events: Events, say: (text: string) => void): Promise<void> {
  let id = 0
  for await (const { event, data } of events)
    say(`id: ${++id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
