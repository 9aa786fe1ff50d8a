import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import { refuseReadable } from './base/config.ts'
import { Fault, startupInvalid, tlsInvalid } from './base/errors.ts'

const Listen = (fallback: string, what: string) =>
  Type.String({
    default: fallback,
    pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):[0-9]{1,5}$',
    description: what
  })

/** Keys of the server that belong to no feature. Plugins bring the others: see `keys` in plugin.ts. */
export const serverKeys = Type.Object({
  data_dir: Type.Optional(Type.String({ description: 'Where the store, keys and backups live.' })),
  operator_http_listen: Listen('127.0.0.1:7080', 'Address of the operator HTTP API.'),
  operator_http_public_origin: Type.Optional(
    Type.String({
      pattern: '^https?://[^/\\s]+$',
      description:
        'Scheme and authority under which browsers reach the API; a proxy in front makes it necessary.'
    })
  ),
  operator_http_tls_cert_path: Type.Optional(Type.String({ description: 'PEM chain for the operator API.' })),
  operator_http_tls_key_path: Type.Optional(Type.String({ description: 'PEM key for the operator API.' })),
  trusted_proxies: Type.Array(Type.String(), {
    default: [],
    description: 'Addresses or CIDRs whose X-Forwarded-For and X-Forwarded-Proto count.'
  }),
  control_listen: Listen('[::]:7443', 'Address of the control stream; falls back to 0.0.0.0 without IPv6.'),
  operator_token: Type.Optional(
    Type.String({ minLength: 8, pattern: '^(?!svct_)', description: 'Machine credential; see gen-token.' })
  ),
  tls_cert_path: Type.Optional(
    Type.String({ description: 'PEM leaf of the control stream; self-made without.' })
  ),
  tls_key_path: Type.Optional(Type.String({ description: 'PEM key of the control stream.' })),
  log_level: Type.Union(
    ['debug', 'info', 'warn', 'error'].map(level => Type.Literal(level)),
    { default: 'info', description: 'Least level that is written.' }
  ),
  log_format: Type.Union([Type.Literal('json'), Type.Literal('pretty')], {
    default: 'json',
    description: 'One JSON object a line, or the same for people.'
  }),
  store_url: Type.Optional(
    Type.String({ pattern: '^sqlite:', description: 'Only the embedded SQLite file for now.' })
  )
})

export type ServerSettings = Static<typeof serverKeys>

/** The operator API's own certificate: both paths, or none. */
export function openTls({
  operator_http_tls_cert_path: certPath,
  operator_http_tls_key_path: keyPath
}: ServerSettings): { readonly cert: string; readonly key: string } | null {
  if (certPath === undefined && keyPath === undefined) return null
  if (certPath === undefined || keyPath === undefined)
    throw new Fault(
      startupInvalid,
      'operator_http_tls_cert_path and operator_http_tls_key_path belong together: give both, or none'
    )
  refuseReadable(keyPath, 'a private key')
  try {
    return { cert: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8') }
  } catch (cause) {
    throw new Fault(tlsInvalid, `the operator API's certificate cannot be read: ${String(cause)}`, { cause })
  }
}
