import { type Static, Type } from 'typebox'
import { throwProblems, validateConfig } from '../../kernel/base/config.ts'
import { type CertificateSettings, configuredFiles, readCertificate } from './certificate.ts'

export const keys = Type.Object({
  advertised_endpoint: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description:
        'host:port under which agents reach the control stream, or a list of them; the certificate must cover each.'
    })
  ),
  tls_cert_path: Type.Optional(
    Type.String({
      isPath: true,
      description: 'PEM certificate of the control stream; self-signed by default.'
    })
  ),
  tls_key_path: Type.Optional(Type.String({ isPath: true, description: 'PEM key of the control stream.' }))
})

/** Splits a list of endpoints, or a text that separates them by commas. '' has none. Validates nothing. */
export const endpointsIn = (given: string | readonly string[]): string[] =>
  given === '' ? [] : [given].flat().flatMap(text => text.split(','))

/** Reads the validated configuration of this plugin. An empty environment variable counts as absent. */
export function settingsIn(config: Static<typeof keys>): CertificateSettings {
  return {
    names: endpointsIn(config.advertised_endpoint ?? []).map(endpoint =>
      endpoint.slice(0, Math.max(0, endpoint.lastIndexOf(':')))
    ),
    ...(config.tls_cert_path && { certPath: config.tls_cert_path }),
    ...(config.tls_key_path && { keyPath: config.tls_key_path })
  }
}

/** Throws Fault unless the configured certificate works. */
export function checkConfig(config: Static<typeof keys>): void {
  const files = configuredFiles(settingsIn(config))
  if (files) readCertificate(files)
}

/** Reads the settings from all top-level keys of a configuration. Throws Fault for an invalid one. */
export function certificateSettings(given: Readonly<Record<string, unknown>>): CertificateSettings {
  const own = Object.entries(given).filter(([key]) => key in keys.properties)
  const { value, problems } = validateConfig(keys, Object.fromEntries(own), '')
  throwProblems(problems)
  return settingsIn(value as Static<typeof keys>) // validated above
}
