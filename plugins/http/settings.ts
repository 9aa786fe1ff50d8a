import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { Fault, startupInvalid, tlsInvalid } from '../../kernel/base/errors.ts'
import type { HostOptions } from '../../kernel/http/host.ts'
import { Listen } from '../../kernel/settings.ts'
import type { Recorder } from './change/decision.ts'
import type { MountedPlugins } from './mounted-plugins.ts'
import type { Site } from './pages/site-slot.ts'
import type { HttpMetrics } from './pipeline/http-metrics.ts'

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
  operator_http_tls_cert_path: Type.Optional(
    Type.String({ description: 'PEM chain for the operator API.', hot: true })
  ),
  operator_http_tls_key_path: Type.Optional(
    Type.String({ description: 'PEM key for the operator API.', hot: true })
  ),
  trusted_proxies: Type.Array(Type.String(), {
    default: [],
    description: 'Addresses or CIDRs of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted.'
  })
})
export type Keys = Static<typeof keys>

export interface HttpOptions extends HostOptions, ReturnType<typeof settingsOf> {
  readonly httpMetrics: HttpMetrics
  readonly recorder: Recorder
  readonly mountedPlugins: MountedPlugins
  readonly site: () => Site | undefined
}

export const settingsOf = (config: Keys) => ({
  listen: config.operator_http_listen, // 'host:port', '[::1]:0'
  tls: openTls(config),
  publicOrigin: config.operator_http_public_origin ?? null,
  trustedProxies: config.trusted_proxies
})

/** PEM texts. */
export interface Tls {
  readonly cert: string
  readonly key: string
}

/** Reads the certificate and key of the operator API. Returns null if neither path is set. */
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
  requirePrivateFile(keyPath, 'a private key')
  try {
    return { cert: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8') }
  } catch (cause) {
    throw new Fault(tlsInvalid, `the operator API's certificate or key cannot be read: ${String(cause)}`, {
      cause
    })
  }
}
