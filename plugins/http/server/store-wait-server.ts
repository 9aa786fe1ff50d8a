// Answers requests while the server waits for its store: it is live, and not ready for a reason.
import type { FastifyReply } from 'fastify'
import type { Clock } from '../../../kernel/base/clock.ts'
import { Fault, storeUnavailable } from '../../../kernel/base/errors.ts'
import { type Release, Releases } from '../../../kernel/base/releases.ts'
import { setCommonHeaders } from '../pipeline/responder.ts'
import { type Keys, openTls, type Tls } from '../settings.ts'
import { sendFault } from './error-body.ts'
import { type Answer, liveAnswer, toReadinessAnswer } from './health.ts'
import { openHostCheck } from './host-check.ts'

interface Options {
  /** Validated keys of the server. */
  readonly keys: object
  readonly clock: Clock
  /** Returns the reason why the store is unavailable. It is public. */
  readonly reason: () => string
}

const retryAfterSecs = 2

/** Listens on the addresses of the API and of metrics until the returned function is called. */
export async function openStoreWaitServer({ keys, clock, reason }: Options): Promise<Release> {
  const own = keys as Keys & { readonly metrics_listen?: string } // absent if the metrics plugin is disabled
  const { listenAt, openServer } = await import('./server.ts') // commands also load this file, and do not need Fastify
  const opened = new Releases()
  const isKnownHost = openHostCheck(own)
  async function open(key: string, listen: string, tls: Tls | null): Promise<void> {
    const app = openServer({ tls, trustedProxies: own.trusted_proxies, clock, isKnownHost })
    opened.defer(() => app.close())
    app.addHook('onRequest', async (request, reply) => {
      setCommonHeaders(request, reply)
      if (request.is404) return sendFault(reply, awayFor(reason())) // regardless of its body
    })
    app.get('/livez', (_, reply) => sendAnswer(reply, liveAnswer))
    app.get('/readyz', (_, reply) =>
      sendAnswer(reply, toReadinessAnswer([{ name: 'store', status: 'failed', reason: reason() }]))
    )
    await listenAt(app, key, listen)
  }
  try {
    await open('operator_http_listen', own.operator_http_listen, openTls(own))
    if (own.metrics_listen !== undefined) await open('metrics_listen', own.metrics_listen, null)
  } catch (error) {
    await opened.run()
    throw error
  }
  return () => opened.run()
}

const sendAnswer = (reply: FastifyReply, { status, type, body }: Answer): FastifyReply =>
  reply.code(status).type(type).send(body)

const awayFor = (reason: string): Fault =>
  new Fault(storeUnavailable, `${reason}; nothing was changed`, {
    details: { retry_after_secs: retryAfterSecs }
  })
