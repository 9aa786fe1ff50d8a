import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { type Static, Type } from 'typebox'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { Fault, reasonOf, startupInvalid, tlsInvalid } from '../../kernel/base/errors.ts'
import type { HostOptions } from '../../kernel/http/host.ts'
import { Listen } from '../../kernel/settings.ts'
import type { Recorder } from './change/decision.ts'
import type { NameRecords } from './change/record-names.ts'
import type { MountedPlugins } from './mounted-plugins.ts'
import type { Site } from './pages/site-slot.ts'
import type { HttpMetrics } from './pipeline/http-metrics.ts'
import type { FindTracer } from './pipeline/tracer-slot.ts'
import { openNetworks } from './request/networks.ts'
import { openHostCheck } from './server/host-check.ts'
import type { ServedCertificate } from './server/served-certificate.ts'

export const keys = Type.Object({
  operator_http_listen: Listen('127.0.0.1:7080', 'Address of the operator HTTP API.'),
  operator_http_public_origin: Type.Optional(
    Type.Refine(
      Type.String({
        description: 'Scheme and authority under which browsers reach the API; required behind a proxy.'
      }),
      text => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text,
      () =>
        'must be what browsers send as Origin: https://NAME in lower case, without a default port or a path'
    )
  ),
  operator_http_hosts: Type.Array(Type.String({ pattern: '^(?=.{1,253}$)[a-z0-9-]+([.][a-z0-9-]+)*$' }), {
    default: [],
    description:
      'Lower-case host names under which the API and /metrics answer, beside addresses, localhost and the public origin.'
  }),
  operator_http_tls_cert_path: Type.Optional(
    Type.String({ isPath: true, description: 'PEM chain for the operator API.', hot: true })
  ),
  operator_http_tls_key_path: Type.Optional(
    Type.String({ isPath: true, description: 'PEM key for the operator API.', hot: true })
  ),
  trusted_proxies: Type.Array(
    Type.Refine(
      Type.String(),
      isProxy,
      text =>
        `must be an address or a network such as 192.0.2.0/24, got ${JSON.stringify(text)}; in a variable, commas separate several`
    ),
    {
      default: [],
      description:
        'Addresses or CIDRs of proxies that are trusted to send X-Forwarded-For and X-Forwarded-Proto.'
    }
  )
})
export type Keys = Static<typeof keys>

export interface HttpOptions extends HostOptions, ReturnType<typeof settingsOf> {
  readonly httpMetrics: HttpMetrics
  readonly recorder: Recorder
  readonly nameRecords: NameRecords
  readonly mountedPlugins: MountedPlugins
  readonly servedCertificate: ServedCertificate
  readonly site: () => Site | undefined
  readonly findTracer: FindTracer
}

export const settingsOf = (config: Keys) => ({
  listen: config.operator_http_listen, // 'host:port', '[::1]:0'
  tls: openTls(config),
  isKnownHost: openHostCheck(config),
  publicOrigin: config.operator_http_public_origin ?? null,
  trustedProxies: config.trusted_proxies
})

/** The service `publicOrigin`: returns `operator_http_public_origin`, or null without it. */
export type PublicOrigin = () => string | null

export const openPublicOrigin =
  ({ config }: { readonly config: Keys }): PublicOrigin =>
  () =>
    config.operator_http_public_origin ?? null

/** PEM texts. */
export interface Tls {
  readonly cert: string
  readonly key: string
}

/** Fastify knows these names for several networks. It refuses a network of all addresses: everybody could claim any address. */
function isProxy(text: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return true
  try {
    openNetworks([text])
  } catch {
    return false
  }
  return !/\/0*$/.test(text)
}

/** Reads the certificate and key of the operator API. Returns null if neither path is set. Throws Fault if they do not work. */
export function openTls({
  operator_http_tls_cert_path: certPath,
  operator_http_tls_key_path: keyPath
}: Keys): Tls | null {
  if (certPath === undefined && keyPath === undefined) return null
  if (certPath === undefined || keyPath === undefined)
    throw new Fault(
      startupInvalid,
      'operator_http_tls_cert_path and operator_http_tls_key_path must be set together; set both or neither'
    )
  try {
    requirePrivateFile(keyPath, 'a private key')
    const tls = { cert: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8') }
    createSecureContext(tls)
    new X509Certificate(tls.cert)
    return tls
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    const message = `${certPath} and ${keyPath} must be the PEM certificate of the operator API and its key: ${reasonOf(cause)}`
    throw new Fault(tlsInvalid, message, { cause })
  }
}
