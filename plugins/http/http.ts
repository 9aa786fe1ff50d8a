// The operator API: Fastify, one encapsulated child a plugin, and what is done once for every route.
import type { AddressInfo } from 'node:net'
import cookie from '@fastify/cookie'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { type ErrorCode, Fault, listenFailed } from '../../kernel/base/errors.ts'
import { kernelCodes } from '../../kernel/check.ts'
import type { HostOptions, HttpHost } from '../../kernel/http/host.ts'
import type { Kernel, Plugin } from '../../kernel/plugin.ts'
import * as rows from './errors.ts'
import type { HttpMetrics } from './metrics.ts'
import { openapi, schemaOf } from './openapi.ts'
import { openPipeline } from './pipeline.ts'
import { openServer } from './server.ts'
import { validator } from './validate.ts'

export interface HttpSettings {
  readonly listen: string // 'host:port', '[::1]:0'
  readonly tls: { readonly cert: string; readonly key: string } | null
  readonly publicOrigin: string | null
  readonly trustedProxies: readonly string[]
}

export interface HttpOptions extends HostOptions, HttpSettings {
  readonly tally: HttpMetrics
}

export async function openHttp(options: HttpOptions): Promise<HttpHost> {
  const codes = new Map<string, ErrorCode>()
  const learn = (more: readonly ErrorCode[]) => {
    for (const row of more) codes.set(row.code, row)
  }
  learn([...kernelCodes, ...Object.values(rows)])

  const app = openServer(options)
  app.setValidatorCompiler(validator(codes))
  await app.register(cookie)
  await app.register(swagger, openapi(options.version))
  const handlerOf = openPipeline(app, options)

  async function mount({ name, needs, routes, codes }: Plugin, deps: Kernel): Promise<void> {
    learn(codes ?? [])
    const child = async (app: FastifyInstance) => {
      for (const route of routes ?? []) {
        const { method, url } = route
        const schema = schemaOf(name, route, route.schema(deps.filled))
        app.route({ method, url, schema, config: { route }, handler: handlerOf(route, deps) })
      }
    }
    const dependencies = Object.keys(needs ?? {})
    await app.register(fp(child, { name, fastify: '5.x', encapsulate: true, dependencies }))
  }

  async function listen() {
    const { hostname, port } = new URL(`http://${options.listen}`)
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    warnOfPlainHttp(host, options)
    try {
      await app.listen({ host, port: Number(port || 80) })
    } catch (cause) {
      throw new Fault(listenFailed, `operator_http_listen ${options.listen}: ${reasonOf(cause)}`, { cause })
    }
    const [{ address, port: taken }] = app.addresses() as [AddressInfo]
    const scheme = options.tls ? 'https' : 'http'
    return { origin: `${scheme}://${address.includes(':') ? `[${address}]` : address}:${taken}` }
  }

  return { app, mount, document: () => app.swagger(), listen, close: () => app.close() }
}

function warnOfPlainHttp(host: string, { tls, publicOrigin, log }: HttpOptions): void {
  const isLoopback = host === 'localhost' || host === '::1' || /^127\./.test(host)
  if (isLoopback || tls !== null || publicOrigin?.startsWith('https://')) return
  log.warn(
    'startup.plain_http',
    'the operator API takes credentials in the clear: give operator_http_tls_cert_path and _key_path, ' +
      'or operator_http_public_origin of an https proxy in front',
    { host }
  )
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
