import { isIPv4 } from 'node:net'
import { type Static, Type } from 'typebox'
import { throwProblems, validateConfig } from '../../kernel/base/config.ts'
import { type CertificateSettings, configuredFiles, readCertificate } from './certificate.ts'

/** Splits a list of endpoints, or a text that separates them by commas. '' has none. Validates nothing. */
export const endpointsIn = (given: string | readonly string[]): string[] =>
  given === '' ? [] : [given].flat().flatMap(text => text.split(','))

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i

/** Returns whether agents can connect to an endpoint of this form. */
export function isEndpoint(text: string): boolean {
  const [, host = '', port = ''] = /^([^:]+):([1-9]\d{0,4})$/.exec(text) ?? []
  const labels = host.split('.')
  const isName =
    host.length <= 253 && labels.every(part => label.test(part)) && !/^\d+$/.test(labels.at(-1) ?? '')
  return (isIPv4(host) || isName) && Number(port) <= 65_535
}

/** Where `isEndpoint` has returned false. */
export const endpointForm = 'must be host:port with a DNS name or an IPv4 address, without white space'

export const keys = Type.Object({
  advertised_endpoint: Type.Optional(
    Type.Refine(
      Type.Union([Type.String(), Type.Array(Type.String())], {
        description:
          'host:port under which agents reach the control stream, or a list of them; the certificate must cover each.'
      }),
      given => endpointsIn(given).every(isEndpoint),
      given => {
        const wrong = endpointsIn(given).find(text => !isEndpoint(text))
        return `${endpointForm}, got ${JSON.stringify(wrong)}; commas separate several`
      }
    )
  ),
  tls_cert_path: Type.Optional(
    Type.String({
      isPath: true,
      description: 'PEM certificate of the control stream; self-signed by default.'
    })
  ),
  tls_key_path: Type.Optional(Type.String({ isPath: true, description: 'PEM key of the control stream.' }))
})

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
