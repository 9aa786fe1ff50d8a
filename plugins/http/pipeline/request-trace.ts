// The trace of a request, for the log, the control stream and the plugin that records spans.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Fault } from '../../../kernel/base/errors.ts'
import type { Log } from '../../../kernel/base/log.ts'
import type { Span, Trace } from '../../../kernel/base/trace.ts'
import { healthPaths, pathOf } from '../request/request-context.ts'
import { parseTraceparent, traceIdOf } from '../request/traceparent.ts'
import type { Tracer } from './tracer-slot.ts'

export interface RequestTrace {
  readonly current: Trace // the caller's, or the span
  readonly span: Span | null
  failure: Fault | null // as sent
}

/** Returns null for a request without a trace. */
export function traceOf(request: FastifyRequest, tracer: Tracer | undefined): RequestTrace | null {
  const parent = parseTraceparent(request.headers['traceparent'])
  const { route } = request.routeOptions.config
  // A stream lasts as long as its caller likes, and health checks tell nothing.
  const isRecorded = route && !route.isStream && !healthPaths.has(pathOf(request.url))
  const span = (isRecorded && tracer?.begin(`${request.method} ${route.url}`, parent)) || null
  const current = span ?? (parent === null ? null : { traceparent: parent })
  return current && { current, span, failure: null }
}

/** Ends the span, and logs the request. It passes both ids: a response can end outside its request's context. */
export function endTrace(request: FastifyRequest, reply: FastifyReply, log: Log): void {
  const { requestTrace, routeOptions, method, url, id } = request
  if (!requestTrace) return
  const { current, span, failure } = requestTrace
  const status = reply.statusCode
  span?.end({
    attributes: {
      'http.request.method': method,
      'http.route': routeOptions.config.route?.url ?? '',
      'http.response.status_code': status,
      'sluice.request_id': id,
      ...(failure && { 'error.type': failure.errorCode.code })
    },
    ...(failure && status >= 500 && { error: failure })
  })
  log.debug('request.traced', `${method} ${pathOf(url)}: ${status}`, {
    request_id: id,
    trace_id: traceIdOf(current.traceparent),
    status,
    ms: Math.round(reply.elapsedTime)
  })
}
