// W3C Trace Context: https://www.w3.org/TR/trace-context/
import type { FastifyReply, FastifyRequest } from 'fastify'
import { currentRequestId, currentTraceId } from '../../../kernel/base/request-id.ts'
import { pathOf } from '../request/request-context.ts'
import type { HttpOptions } from '../settings.ts'

const traceparent = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** Returns the trace id of a `traceparent` header, or null if it is malformed. Later versions can be longer. */
export function traceIdOf(header: string | readonly string[] | undefined): string | null {
  const [, version, traceId, more] = traceparent.exec(String(header)) ?? []
  return traceId === undefined || (version === '00' && more !== undefined) ? null : traceId
}

/** Runs `next` with request id and trace id for its log lines. */
export function runTraced({ id, headers }: FastifyRequest, next: () => void): void {
  const traceId = traceIdOf(headers['traceparent'])
  currentRequestId.run(id, () => (traceId === null ? next() : currentTraceId.run(traceId, next)))
}

/** Logs traced requests. It passes both ids: a response can end outside its request's context. */
export function logTraced(
  log: HttpOptions['log'],
  { method, url, id, headers }: FastifyRequest,
  reply: FastifyReply
) {
  const traceId = traceIdOf(headers['traceparent'])
  if (traceId === null) return
  log.debug('request.traced', `${method} ${pathOf(url)}: ${reply.statusCode}`, {
    request_id: id,
    trace_id: traceId,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime)
  })
}
