// The configured providers, checked. Errors name the key and never contain a secret.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { requirePrivateFile } from '../../../kernel/base/directory.ts'
import { Fault, reasonOf, startupInvalid } from '../../../kernel/base/errors.ts'
import { checkGrantTemplate } from '../../grants/exports.ts'
import type { Config, ProviderConfig } from '../settings.ts'

const maxProviders = 8

const defaults = {
  scopes: 'openid profile email',
  user_claim: 'preferred_username',
  groups_claim: 'groups',
  make_users: false,
  trust_mfa: false,
  session_max_secs: 43_200,
  logout: 'local'
} satisfies Partial<ProviderConfig>

export type Provider = ProviderConfig &
  Required<Pick<ProviderConfig, keyof typeof defaults>> & { readonly name: string; readonly title: string }

const refuse = (key: string, problem: string): never => {
  throw new Fault(startupInvalid, `plugins.oidc.providers${key} ${problem}`)
}

/** Returns the providers in the order of their names. Throws Fault for the first invalid one; reads no file. */
export function providersIn({ providers }: Config, publicOrigin: string | null): readonly Provider[] {
  const names = Object.keys(providers).sort()
  if (names.length > maxProviders)
    refuse('', `has ${names.length} providers; at most ${maxProviders} are allowed, remove some`)
  if (names.length > 0 && publicOrigin === null)
    refuse(
      `.${names[0]}`,
      'needs the key operator_http_public_origin: the provider sends browsers back there; set it'
    )
  return names.flatMap(name => {
    const provider = providers[name]
    return provider ? [toProvider(name, provider)] : []
  })
}

function toProvider(name: string, given: ProviderConfig): Provider {
  if (!/^[a-z][a-z0-9-]{0,26}$/.test(name))
    refuse(`.${JSON.stringify(name)}`, 'must be 1 to 27 of a-z, 0-9 and -, a letter first; rename it')
  const issuer = URL.parse(given.issuer)
  if (!issuer || !isSafe(issuer) || issuer.search !== '' || issuer.hash !== '' || issuer.username !== '')
    refuse(
      `.${name}.issuer`,
      'must be a URL that begins with https://, or http:// on loopback, without a query'
    )
  const provider = { name, title: name, ...defaults, ...given }
  if (!provider.scopes.split(' ').includes('openid')) refuse(`.${name}.scopes`, 'must contain openid; add it')
  requireGrants(provider)
  return provider
}

function requireGrants({ name, grants = {} }: Pick<Provider, 'name' | 'grants'>): void {
  for (const [group, templates] of Object.entries(grants))
    for (const [at, template] of templates.entries())
      try {
        checkGrantTemplate(template)
      } catch (error) {
        refuse(
          `.${name}.grants.${JSON.stringify(group)}.${at}`,
          `is no grant: ${reasonOf(error)}; correct it`
        )
      }
}

/** True for https, and for http on loopback. */
export const isSafe = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))

/** Returns the address at which a provider sends the browser back. */
export const redirectUriOf = ({ name }: Pick<Provider, 'name'>, publicOrigin: string): string =>
  `${publicOrigin}/v1/auth/oidc/${name}/callback`

interface Checked extends Config {
  readonly operator_http_public_origin?: string
}

/** Checks also the files. For the start, a reload and `config check`. */
export function checkConfig(config: Checked): void {
  for (const provider of providersIn(config, config.operator_http_public_origin ?? null)) {
    secretOf(provider)
    authoritiesOf(provider)
  }
}

const secretVariable = (name: string): string => `SVC_OIDC_${name.toUpperCase().replaceAll('-', '_')}_SECRET`

/** Returns the client secret; null for a public client. Throws Fault if the file does not fit. */
export function secretOf({ name, client_secret_file: file }: Provider): string | null {
  const given = process.env[secretVariable(name)]
  if (given) return given
  if (file === undefined) return null
  const secret = readPrivate(`.${name}.client_secret_file`, file).split('\n', 1)[0]?.trim() ?? ''
  if (secret === '')
    refuse(
      `.${name}.client_secret_file`,
      `names ${file}, but its first line is empty; write the secret there`
    )
  return secret
}

/** Returns the PEM text of additional authorities, or null. Throws Fault if the file does not fit. */
export function authoritiesOf({ name, extra_ca_file: file }: Provider): string | null {
  if (file === undefined) return null
  try {
    const pem = readFileSync(file, 'utf8')
    if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it has no certificate')
    createSecureContext({ ca: pem })
    return pem
  } catch (error) {
    return refuse(`.${name}.extra_ca_file`, `must name a PEM file with certificates: ${reasonOf(error)}`)
  }
}

function readPrivate(key: string, file: string): string {
  try {
    requirePrivateFile(file, 'a client secret')
    return readFileSync(file, 'utf8')
  } catch (error) {
    return refuse(key, `cannot be used: ${reasonOf(error)}`)
  }
}
