import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import { increment, samplesOf } from '../../../kernel/base/metric.ts'
import type { Metric, Metrics } from '../../../kernel/metrics.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { ServedCertificate } from '../server/served-certificate.ts'

const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] // seconds

interface Durations {
  readonly counts: number[]
  sum: number
}

export interface HttpMetrics {
  /** Counts a response. Requests without a route share one label, so that unknown paths add no series. */
  countResponse(request: FastifyRequest, reply: FastifyReply): void
  /** Counts failed authentication: every 401, and every 429 of a public route. */
  countRefusal(context: RequestContext, code: ErrorCode): void
  /** Counts a request that was refused because its caller used more than its share. */
  countOverShare(): void
  /** Counts a decision that the plugin failed to record. */
  countUnrecorded(plugin: string): void
  readonly collect: Metrics
}

interface Deps {
  readonly servedCertificate: Pick<ServedCertificate, 'get'>
}

export function openHttpMetrics({ servedCertificate }: Deps): HttpMetrics {
  const requests = new Map<string, number>()
  const durations = new Map<string, Durations>()
  const failures = new Map<string, number>()
  const unrecorded = new Map<string, number>()
  let overShare = 0

  function countResponse({ method, requestContext }: FastifyRequest, reply: FastifyReply): void {
    const route = requestContext?.route
    const url = route?.url ?? 'none'
    increment(requests, `${method} ${url} ${reply.statusCode}`)
    if (route?.isStream) return // the caller decides its duration
    const key = `${method} ${url}`
    const found = durations.get(key) ?? { counts: [...bounds, 0].fill(0), sum: 0 }
    durations.set(key, found)
    const secs = reply.elapsedTime / 1000
    const at = bounds.findIndex(bound => secs <= bound)
    const bucket = at < 0 ? bounds.length : at
    found.counts[bucket] = (found.counts[bucket] ?? 0) + 1
    found.sum += secs
  }

  function countRefusal({ route }: RequestContext, { code, http }: ErrorCode): void {
    if (http === 401 || (http === 429 && route.access === 'public')) increment(failures, code)
  }

  const collect: Metrics = async () => [
    {
      name: 'svc_http_requests_total',
      type: 'counter',
      help: 'Requests to the operator API.',
      labels: ['method', 'route', 'status'],
      samples: samplesOf(requests)
    },
    {
      name: 'svc_http_request_duration_seconds',
      type: 'histogram',
      help: 'Time from the request to the last byte of its response, without event streams.',
      labels: ['method', 'route'],
      samples: [...durations].map(([key, found]) => ({
        labelValues: key.split(' '),
        value: { bounds, ...found }
      }))
    },
    failuresOf(failures),
    refusedTurnsOf(overShare),
    unrecordedOf(unrecorded),
    expiryOf(servedCertificate.get()?.validToDate ?? null)
  ]

  const countOverShare = (): void => {
    overShare++
  }
  const countUnrecorded = (plugin: string): void => increment(unrecorded, plugin)
  return { countResponse, countRefusal, countOverShare, countUnrecorded, collect }
}

const failuresOf = (failures: Map<string, number>): Metric => ({
  name: 'svc_auth_failures_total',
  type: 'counter',
  help: 'Failed authentications of callers and agents, by code.',
  labels: ['reason'],
  samples: samplesOf(failures)
})

const refusedTurnsOf = (count: number): Metric => ({
  name: 'svc_http_over_share_total',
  type: 'counter',
  help: 'Requests refused because their caller had used more than its share of CPU time, and others waited.',
  labels: [],
  samples: [{ labelValues: [], value: count }]
})

const unrecordedOf = (counts: Map<string, number>): Metric => ({
  name: 'svc_decisions_not_recorded_total',
  type: 'counter',
  help: 'Decisions that a plugin failed to record.',
  labels: ['plugin'],
  samples: samplesOf(counts)
})

const expiryOf = (certificate: Date | null): Metric => ({
  name: 'svc_certificate_expiry_timestamp_seconds',
  type: 'gauge',
  help: 'Expiry of the certificates of control stream and API.',
  labels: ['certificate'],
  samples: certificate ? [{ labelValues: ['api'], value: certificate.getTime() / 1000 }] : []
})
