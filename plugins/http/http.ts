// The operator API: Fastify, with one encapsulated child for each plugin.

import type { AddressInfo } from 'node:net'
import cookie from '@fastify/cookie'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ErrorCode } from '../../kernel/base/errors.ts'
import type { HttpHost } from '../../kernel/http/host.ts'
import { parseListen } from '../../kernel/platform/listen-fault.ts'
import { isLoopback } from '../../kernel/platform/network.ts'
import type { Kernel, Plugin } from '../../kernel/plugin.ts'
import { kernelCodes } from '../../kernel/plugin-problems.ts'
import * as httpCodes from './codes.ts'
import { documentOf } from './openapi/document.ts'
import { type Declared, errorCodesOf } from './openapi/errors.ts'
import { requestSchemas, valueIn } from './openapi/operation.ts'
import { openSite } from './pages/site.ts'
import { FairTurns } from './pipeline/fair-turns.ts'
import { openPipeline } from './pipeline/pipeline.ts'
import { bodyLimitOf } from './request/body-limit.ts'
import { openRequestValidator } from './request/request-validator.ts'
import { listenAt, openServer, serveCertificate } from './server/server.ts'
import { type HttpOptions, type Keys, openTls } from './settings.ts'

export async function openHttp(options: HttpOptions): Promise<HttpHost> {
  const codes = new Map<string, ErrorCode>()
  const addCodes = (added: readonly ErrorCode[]) => {
    for (const code of added) codes.set(code.code, code)
  }
  addCodes([...kernelCodes, ...Object.values(httpCodes)])

  const turns = new FairTurns(options.clock, reportRefusedTurns(options))
  const app = openServer(options)
  app.setValidatorCompiler(openRequestValidator(codes))
  await app.register(cookie, { hook: false }) // cookies are parsed on demand
  const stepsOf = openPipeline(app, { ...options, turns }, await openSite(app, options.site))
  if (options.tls) options.servedCertificate.set(serveCertificate(app.server, options.tls))

  const plugins: Plugin[] = []
  const mounted: Declared[] = []

  async function mount(plugin: Plugin, deps: Kernel): Promise<void> {
    const { name, needs = {}, routes = [], codes: ownCodes = [] } = plugin
    addCodes(ownCodes)
    plugins.push(plugin)
    options.mountedPlugins.add({ plugin, config: deps.config })
    const child = async (app: FastifyInstance) => {
      for (const route of routes) {
        const { method, url } = route
        const schemas = route.schema(deps.filled)
        const declared = { plugin: name, codes: ownCodes, route, schemas }
        mounted.push(declared)
        const config = {
          route,
          plugin: name,
          ...(schemas.query && { query: schemas.query }),
          ...(valueIn(route, schemas) && { mayReply: true as const }),
          ...(schemas.errors && { errors: once(() => errorCodesOf(declared)) })
        }
        app.route({
          method,
          url,
          schema: requestSchemas(route, schemas),
          config,
          bodyLimit: bodyLimitOf(route),
          ...stepsOf(route, deps, name)
        })
      }
    }
    const dependencies = Object.keys(needs)
    await app.register(fp(child, { name, fastify: '5.x', encapsulate: true, dependencies }))
  }

  async function listen() {
    warnPlainHttp(options)
    await listenAt(app, 'operator_http_listen', options.listen)
    const origin = originOf(app, options)
    options.site()?.listening(options.publicOrigin ?? origin)
    return { origin }
  }

  const document = () => documentOf({ plugins, routes: mounted, codes }, options)
  return { app, mount, document, listen, renewCertificate: renewalOf(app, options), close: () => app.close() }
}

const reportMs = 60_000

/** Returns a function that counts refusals, and logs them once a minute. */
function reportRefusedTurns({ httpMetrics, clock, log }: HttpOptions): (payer: string) => void {
  let reportedAt = Number.NEGATIVE_INFINITY
  return payer => {
    httpMetrics.countOverShare()
    if (clock.monotonic() - reportedAt < reportMs) return
    reportedAt = clock.monotonic()
    log.warn('http.over_share', `${payer} uses more than its share of the server, and others wait`, { payer })
  }
}

/** Returns a function that calls `make` on its first call and caches the result. */
function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

function originOf(app: FastifyInstance, { tls }: HttpOptions): string {
  const [{ address, port }] = app.addresses() as [AddressInfo]
  return `${tls ? 'https' : 'http'}://${address.includes(':') ? `[${address}]` : address}:${port}`
}

/** Replaces the certificate. Switching between HTTP and HTTPS needs a restart. */
const renewalOf =
  (app: FastifyInstance, { tls: served, servedCertificate }: HttpOptions) =>
  (config: object): string | null => {
    const tls = served && openTls(config as Keys) // validated by the caller
    const certificate = tls && serveCertificate(app.server, tls)
    servedCertificate.set(certificate)
    return certificate?.validToDate.toISOString() ?? null
  }

function warnPlainHttp({ listen, tls, publicOrigin, log }: HttpOptions): void {
  const { host } = parseListen(listen)
  if (isLoopback(host) || tls !== null || publicOrigin?.startsWith('https://')) return
  log.warn(
    'startup.plain_http',
    'the operator API accepts credentials over plain http: set operator_http_tls_cert_path and _key_path, ' +
      'or operator_http_public_origin to the https origin of a proxy in front',
    { host }
  )
}
