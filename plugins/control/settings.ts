import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Static, Type } from 'typebox'
import { throwProblems, validateConfig } from '../../kernel/base/config.ts'
import { Listen } from '../../kernel/settings.ts'
import type { CertificateSettings } from './certificate.ts'

export const keys = Type.Object({
  control_listen: Listen('[::]:7443', 'Address of the control stream; falls back to 0.0.0.0 without IPv6.'),
  advertised_endpoint: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description:
        'host:port under which agents reach the control stream, or a list of them; the certificate must cover each.'
    })
  ),
  server_id: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      description:
        'Name of this server among those of one store; by default that of the host and a random part, new at each start.'
    })
  ),
  tls_cert_path: Type.Optional(
    Type.String({ description: 'PEM certificate of the control stream; self-signed by default.' })
  ),
  tls_key_path: Type.Optional(Type.String({ description: 'PEM key of the control stream.' }))
})

/** Returns the endpoints of a list, or of a text that separates them by commas. They are not validated. */
export const endpointsIn = (given: string | readonly string[]): string[] =>
  [given]
    .flat()
    .flatMap(text => text.split(','))
    .map(text => text.trim())
    .filter(text => text !== '')

/** An empty environment variable counts as absent. */
export function settingsOf(config: Static<typeof keys>) {
  const endpoints = endpointsIn(config.advertised_endpoint ?? [])
  return {
    listen: config.control_listen,
    serverId: config.server_id || `${hostname().slice(0, 50)}-${randomBytes(4).toString('hex')}`,
    endpoint: endpoints.join(',') || null,
    certificate: {
      names: endpoints.map(endpoint => endpoint.slice(0, Math.max(0, endpoint.lastIndexOf(':')))),
      ...(config.tls_cert_path && { certPath: config.tls_cert_path }),
      ...(config.tls_key_path && { keyPath: config.tls_key_path })
    }
  }
}

/** Returns the settings of the certificate, for commands. */
export function certificateSettings(given: Readonly<Record<string, unknown>>): CertificateSettings {
  const own = Object.entries(given).filter(([key]) => key in keys.properties)
  const { value, problems } = validateConfig(keys, Object.fromEntries(own), '')
  throwProblems(problems)
  return settingsOf(value as Static<typeof keys>).certificate // validated above
}
