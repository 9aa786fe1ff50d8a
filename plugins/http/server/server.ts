import { X509Certificate } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import Fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerFactory } from 'fastify'
import { Fault, listenFailed, reasonOf, startupInvalid, tlsInvalid } from '../../../kernel/base/errors.ts'
import { newId } from '../../../kernel/base/id.ts'
import { lowPortRemedy } from '../../../kernel/platform/low-port.ts'
import { formTypes, parseForm } from '../request/form-body.ts'
import { mergePatchType } from '../request/request-context.ts'
import type { HttpOptions } from '../settings.ts'
import { boundConnections, receiveLimits } from './connection-bounds.ts'
import { faultOf, refuseMalformed, sendFault } from './error-body.ts'

const maxConnections = 1024
const limits = {
  ...receiveLimits,
  keepAliveTimeout: 72_000,
  maxHeaderSize: 16 * 1024,
  requireHostHeader: false // otherwise Node refuses with an empty body
}

type Options = Pick<HttpOptions, 'tls' | 'trustedProxies' | 'clock'>

/** Returns a Fastify instance with the limits, request ids and parsers of the operator API, without routes. */
export function openServer(options: Options): FastifyInstance {
  let closeConnections = (): void => {}
  const app = fastify(options, handle => {
    const server: Server = options.tls ? createTlsServer({ ...limits, ...options.tls }) : createServer(limits)
    closeConnections = boundConnections({ server, max: maxConnections, clock: options.clock, handle })
    return server
  })
  acceptBodies(app)
  closeOnShutdown(app, () => closeConnections())
  return app
}

function fastify({ trustedProxies }: Options, serverFactory: FastifyServerFactory): FastifyInstance {
  try {
    return Fastify({
      serverFactory,
      bodyLimit: 2 ** 20,
      routerOptions: { maxParamLength: limits.maxHeaderSize }, // plugins answer 404 for malformed ids
      return503OnClosing: false,
      trustProxy: trustedProxies.length > 0 && [...trustedProxies],
      genReqId: ({ headers: { 'x-request-id': id } }) =>
        typeof id === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : newId(),
      frameworkErrors: (error, request, reply) =>
        void sendFault(reply.header('x-request-id', request.id), faultOf(error, request.id)),
      clientErrorHandler: refuseMalformed
    })
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause
    if ('code' in cause && String(cause.code).startsWith('ERR_OSSL'))
      throw new Fault(tlsInvalid, `the operator API's certificate or key: ${cause.message}`, { cause })
    throw new Fault(startupInvalid, `trusted_proxies: ${cause.message}`, { cause })
  }
}

export function addressOf(listen: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(`http://${listen}`)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 80) }
}

/** Listens on `listen`, the value of the configuration key `key`. */
export async function listenAt(app: FastifyInstance, key: string, listen: string): Promise<void> {
  const { host, port } = addressOf(listen)
  try {
    // For `localhost` Node would listen on one address only, which can be ::1.
    await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port })
  } catch (cause) {
    const why = reasonOf(cause) + lowPortRemedy(cause, port)
    throw new Fault(listenFailed, `${key} ${listen}: ${why}`, { cause })
  }
}

/** Replaces the certificate for new connections. Returns its expiry. */
export function serveCertificate(server: Server, tls: { readonly cert: string; readonly key: string }): Date {
  try {
    if (server instanceof TlsServer) server.setSecureContext(tls)
    return new X509Certificate(tls.cert).validToDate
  } catch (cause) {
    throw new Fault(tlsInvalid, `the operator API's certificate or key: ${reasonOf(cause)}`, { cause })
  }
}

/** Parses JSON, and forms on routes that accept them. */
function acceptBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', mergePatchType],
    { parseAs: 'string' },
    (request, body, done) => (body === '' ? done(null) : parse(request, body as string, done))
  )
  for (const type of formTypes)
    app.addContentTypeParser(type, { parseAs: 'buffer' }, async ({ headers }: FastifyRequest, body: Buffer) =>
      parseForm(body, headers['content-type'] ?? type)
    )
  // refuseMediaType has refused other types; without a body the type is irrelevant.
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: 1 }, (_request, _body, done) => done(null))
  app.setSerializerCompiler(() => JSON.stringify)
}

/** Closes connections, so that none waits for another request during the shutdown. */
function closeOnShutdown(app: FastifyInstance, closeConnections: () => void): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    closeConnections()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isClosing) reply.header('connection', 'close')
    done()
  })
}
