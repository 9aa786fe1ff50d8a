import { X509Certificate } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import Fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerFactory } from 'fastify'
import { Fault } from '../../../kernel/base/errors.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { listenFault, parseListen } from '../../../kernel/platform/listen-fault.ts'
import { unknownHost } from '../codes.ts'
import { setCommonHeaders } from '../pipeline/responder.ts'
import { maxBodyBytes } from '../request/body-limit.ts'
import { formTypes, parseForm } from '../request/form-body.ts'
import { normalizeForwarded } from '../request/forwarded-headers.ts'
import { jsonFault, readJsonText } from '../request/json-body.ts'
import { mergePatchType } from '../request/request-context.ts'
import type { HttpOptions, Tls } from '../settings.ts'
import { boundConnections, receiveLimits } from './connection-bounds.ts'
import { faultOfRequest, refuseMalformed, sendFault } from './error-body.ts'

const maxConnections = 1024
const limits = {
  ...receiveLimits,
  keepAliveTimeout: 72_000,
  maxHeaderSize: 16 * 1024,
  requireHostHeader: false // otherwise Node refuses with an empty body
}

type Options = Pick<HttpOptions, 'tls' | 'trustedProxies' | 'clock' | 'isKnownHost'>

/** Returns a Fastify instance with the limits, request ids and parsers of the operator API, without routes. */
export function openServer(options: Options): FastifyInstance {
  let closeConnections = (): void => {}
  const app = fastify(options, handle => {
    const server: Server = options.tls ? createTlsServer({ ...limits, ...options.tls }) : createServer(limits)
    closeConnections = boundConnections({ server, max: maxConnections, clock: options.clock, handle })
    return server
  })
  if (options.trustedProxies.length > 0)
    app.addHook('onRequest', async ({ raw: { headers } }) => normalizeForwarded(headers))
  judgeHosts(app, options)
  acceptBodies(app)
  closeOnShutdown(app, () => closeConnections())
  return app
}

const fastify = ({ trustedProxies }: Options, serverFactory: FastifyServerFactory): FastifyInstance =>
  Fastify({
    serverFactory,
    bodyLimit: maxBodyBytes,
    routerOptions: { maxParamLength: limits.maxHeaderSize }, // plugins answer 404 for malformed ids
    return503OnClosing: false,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    genReqId: ({ headers: { 'x-request-id': id } }) =>
      typeof id === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(id) ? id : newId(),
    frameworkErrors: (error, request, reply) =>
      void sendFault(reply.header('x-request-id', request.id), faultOfRequest(error, request)),
    clientErrorHandler: refuseMalformed
  })

/** Listens on `listen`, the value of the configuration key `key`. */
export async function listenAt(app: FastifyInstance, key: string, listen: string): Promise<void> {
  try {
    await app.listen(parseListen(listen))
  } catch (cause) {
    throw listenFault(key, listen, cause)
  }
}

/** Replaces the certificate for new connections, and returns it. */
export function serveCertificate(server: Server, tls: Tls): X509Certificate {
  if (server instanceof TlsServer) server.setSecureContext(tls)
  return new X509Certificate(tls.cert)
}

const strictTransport = 'max-age=86400' // it holds for all ports of the name, so it is short

/** Refuses requests for unknown names, before anything else. */
function judgeHosts(app: FastifyInstance, { isKnownHost, tls }: Options): void {
  app.addHook('onRequest', async (request, reply) => {
    if (tls) reply.header('strict-transport-security', strictTransport)
    const { host } = request.headers
    if (isKnownHost(host, request.socket.localAddress)) return
    setCommonHeaders(request, reply)
    const remedy = 'send a name or address of this server, or add the name to operator_http_hosts'
    return sendFault(reply, new Fault(unknownHost, `Host is ${host?.slice(0, 255)}; ${remedy}`))
  })
}

type Done = (error: Error | null, body?: unknown) => void
type Parser<B> = (request: FastifyRequest, body: B, done: Done) => void

/** Calls `parse` when the caller has its turn. */
const inTurn =
  <B>(parse: Parser<B>): Parser<B> =>
  (request, body, done) => {
    const { bodyTurn } = request
    if (bodyTurn) void bodyTurn().then(() => parse(request, body, done), done)
    else parse(request, body, done)
  }

/** Parses JSON, and forms on routes that accept them. */
function acceptBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', mergePatchType],
    { parseAs: 'buffer' },
    inTurn((request, body: string | Buffer, done) => {
      if (body.length === 0) return done(null)
      try {
        const text = readJsonText(body as Buffer)
        parse(request, text, (error, value) => done(error && jsonFault(text, error), value))
      } catch (fault) {
        done(fault as Fault)
      }
    })
  )
  for (const type of formTypes)
    app.addContentTypeParser(type, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
      if (body.length === 0 && !request.requestContext?.route.takesForm) return null // its type is irrelevant
      await request.bodyTurn?.()
      return parseForm(body, request.headers['content-type'] ?? type)
    })
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
