import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { attributionOf } from '../../../kernel/base/attribution.ts'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import type { Call, Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Guard } from '../pipeline/guard.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { HttpOptions } from '../settings.ts'
import type { ServerEvent } from './stream-route.ts'

const maxPerPrincipal = 16
const accessCheckMs = 1_000
const commentMs = 15_000
const retryMs = 5_000 // the caller's delay before it reconnects
const maxUnreadBytes = 256 * 1024

type Events = AsyncIterable<ServerEvent<unknown>>

/** Serves server-sent events until the caller disconnects or loses access, or the server stops. */
export interface Streams {
  /** Responds with the events of `start`, which is called only if the caller is below its limit of streams. */
  open(
    context: RequestContext,
    reply: FastifyReply,
    ended: AbortController,
    start: () => Promise<Events>
  ): Promise<FastifyReply>
  endAll(): void
}

export function openStreams(
  { clock, log }: Pick<HttpOptions, 'clock' | 'log'>,
  guard: Pick<Guard, 'recheck'>
): Streams {
  const active = new Map<string, Set<AbortController>>() // by user id

  function register({ principal: { userId } }: RequestContext, ended: AbortController): void {
    const streams = active.get(userId) ?? new Set()
    if (streams.size >= maxPerPrincipal)
      throw new Fault(rateLimited, `${maxPerPrincipal} streams are open already; end one first`)
    active.set(userId, streams.add(ended))
    ended.signal.addEventListener('abort', () => {
      streams.delete(ended)
      if (streams.size === 0) active.delete(userId)
    })
  }

  /** Polls: there are no events for ended sessions, revoked tokens or deleted users. */
  function watchAccess(context: RequestContext, ended: AbortController): void {
    let isChecking = false
    const check = async (): Promise<void> => {
      if (isChecking) return
      isChecking = true
      await guard.recheck({ ...context }).catch((error: unknown) => {
        if (!(error instanceof Fault))
          log.error('request.failed', String(error), {
            request_id: context.requestId,
            ...attributionOf(error)
          })
        ended.abort()
      })
      isChecking = false
    }
    const stop = clock.every(accessCheckMs, () => void check())
    onceAborted(ended.signal, stop)
  }

  async function open(
    context: RequestContext,
    reply: FastifyReply,
    ended: AbortController,
    start: () => Promise<Events>
  ): Promise<FastifyReply> {
    register(context, ended)
    const events = await start().catch(error => {
      ended.abort()
      throw error
    })
    watchAccess(context, ended)
    return reply
      .type('text/event-stream')
      .headers({ 'x-accel-buffering': 'no', connection: 'close' }) // keep-alive would delay a shutdown
      .send(eventStreamBody(events, ended, clock))
  }

  const endAll = (): void => {
    for (const ended of [...active.values()].flatMap(streams => [...streams])) ended.abort()
  }
  return { open, endAll }
}

/** Returns the events of a `defineStream` route. */
export const eventsOf = (route: Route<Kernel>, deps: Kernel, call: Call): Promise<Events> =>
  route.run(deps, call) as Promise<unknown> as Promise<Events>

/** Returns a response body of server-sent events. It is destroyed if a slow reader leaves too much unread. */
function eventStreamBody(events: Events, ended: AbortController, clock: HttpOptions['clock']): Readable {
  const body = new Readable({ read() {} })
  const write = (text: string): void => {
    if (body.readableLength > maxUnreadBytes) body.destroy() // drops the unread data and the connection
    if (!ended.signal.aborted) body.push(text)
  }
  const stopComments = clock.every(commentMs, () => write(': still here\n\n'))
  write(`retry: ${retryMs}\n\n`)
  onceAborted(ended.signal, () => {
    stopComments()
    body.push(null)
  })
  void writeEvents(events, write).then(
    () => ended.abort(),
    error => body.destroy(error)
  )
  return body.once('close', () => ended.abort())
}

/** Runs `work` when the signal aborts, or at once if it has: callers can disconnect during the start. */
function onceAborted(signal: AbortSignal, work: () => void): void {
  if (signal.aborted) work()
  else signal.addEventListener('abort', work)
}

async function writeEvents(events: Events, write: (text: string) => void): Promise<void> {
  let id = 0
  for await (const { event, data } of events)
    write(`id: ${++id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}
