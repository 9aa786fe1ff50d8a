import Fastify, { type FastifyInstance } from 'fastify'
import { Fault, startupInvalid, tlsInvalid } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import { faultOf, refuseStranger, sendFault } from './envelope.ts'
import type { HttpOptions } from './http.ts'

const limits = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1000, // how late the two may be noticed
  maxHeaderSize: 16 * 1024,
  requireHostHeader: false // Node would refuse without a body
}

type Options = Pick<HttpOptions, 'tls' | 'trustedProxies'>

/** A bare Fastify with our limits, ids and manners. */
export function openServer(options: Options): FastifyInstance {
  const app = fastify(options)
  app.server.maxConnections = 1024
  speakJson(app)
  endConnections(app)
  return app
}

function fastify({ tls, trustedProxies }: Options): FastifyInstance {
  try {
    return Fastify({
      ...(tls ? { https: { ...limits, ...tls } } : { http: limits }),
      requestTimeout: limits.requestTimeout,
      bodyLimit: 2 ** 20,
      routerOptions: { maxParamLength: limits.maxHeaderSize }, // a malformed id is the plugin's 404
      return503OnClosing: false,
      trustProxy: trustedProxies.length > 0 && [...trustedProxies],
      genReqId: ({ headers: { 'x-request-id': id } }) =>
        typeof id === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : newId(),
      frameworkErrors: (error, request, reply) =>
        void sendFault(reply.header('x-request-id', request.id), faultOf(error, request.id)),
      clientErrorHandler: refuseStranger
    }) as unknown as FastifyInstance // of http and https alike
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause
    if ('code' in cause && String(cause.code).startsWith('ERR_OSSL'))
      throw new Fault(tlsInvalid, `the operator API's certificate or key: ${cause.message}`, { cause })
    throw new Fault(startupInvalid, `trusted_proxies: ${cause.message}`, { cause })
  }
}

function speakJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) =>
    body === '' ? done(null) : parse(request, body as string, done)
  )
  // Another media type is refused before; without a body the type does not matter.
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: 1 }, (_request, _body, done) => done(null))
  app.setSerializerCompiler(() => JSON.stringify)
}

/** A connection whose request outlives the start of the close would else be kept for the next one. */
function endConnections(app: FastifyInstance): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close')
  })
}
