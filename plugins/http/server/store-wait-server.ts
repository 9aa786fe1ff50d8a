// What the addresses of a server answer while it waits for its store: that it lives, and why it is not ready.
import type { FastifyReply } from 'fastify'
import type { Clock } from '../../../kernel/base/clock.ts'
import { Fault, storeUnavailable } from '../../../kernel/base/errors.ts'
import { type Release, Releases } from '../../../kernel/base/releases.ts'
import { setCommonHeaders } from '../pipeline/responder.ts'
import { type Keys, openTls } from '../settings.ts'
import { sendFault } from './error-body.ts'
import { type Answer, live, readinessOf } from './health.ts'

interface Options {
  /** Of the server; validated. */
  readonly keys: object
  readonly clock: Clock
  /** Why the store cannot be used. Anyone may read it. */
  readonly reason: () => string
}

const retryAfterSecs = 2

/** Listens at the addresses of the API and of metrics, until the function that it returns is called. */
export async function openWaiting({ keys, clock, reason }: Options): Promise<Release> {
  const own = keys as Keys & { readonly metrics_listen?: string } // none where the plugin metrics is off
  const { listenAt, openServer } = await import('./server.ts') // commands load this file, too, and do not need Fastify
  const opened = new Releases()
  async function open(key: string, listen: string, tls: ReturnType<typeof openTls>): Promise<void> {
    const app = openServer({ tls, trustedProxies: own.trusted_proxies, clock })
    opened.defer(() => app.close())
    app.addHook('onRequest', async (request, reply) => {
      setCommonHeaders(request, reply)
      if (request.is404) return sendFault(reply, awayFor(reason())) // whatever its body is
    })
    app.get('/livez', (_, reply) => sendAnswer(reply, live))
    app.get('/readyz', (_, reply) =>
      sendAnswer(reply, readinessOf([{ name: 'store', status: 'failed', reason: reason() }]))
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
