// The limits of a token: scopes, sources and lifetime. A token issues and rotates none with fewer limits than its own.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import type { Credential } from '../../kernel/identity/entities.ts'
import { allScopes, hasScope, scopesIn } from '../http/exports.ts'
import { credentialTooBroad, invalidScopes } from './codes.ts'
import type { KnownScopes } from './known-scopes.ts'
import type { IssueBody } from './schema.ts'

/** Null: no limit. */
export interface Limits {
  readonly scopes: readonly string[] | null
  readonly allowedSources: readonly string[] | null // normalized networks
  readonly lifeMs: number | null
}

export const limitsOf = ({
  scopes,
  allowedSources,
  createdAt,
  expiresAt
}: Pick<Credential, 'scopes' | 'allowedSources' | 'createdAt' | 'expiresAt'>): Limits => ({
  scopes: scopesIn(scopes),
  allowedSources: allowedSources?.split(' ') ?? null,
  lifeMs: expiresAt == null ? null : expiresAt - createdAt
})

/** Throws `validation.scopes` for an unknown scope, or `validation.schema` for an invalid source. */
export const parseLimits = (
  { scopes = null, allowed_sources: sources = null, expires_in_secs: lifeSecs }: IssueBody,
  known: KnownScopes
): Limits => ({
  scopes: parseScopes(scopes, known),
  allowedSources: parseSources(sources),
  lifeMs: lifeSecs === undefined ? null : lifeSecs * 1000
})

/** Returns the scopes, each once. */
export function parseScopes(given: readonly string[] | null, known: KnownScopes): readonly string[] | null {
  if (given === null) return null
  const names = known.names()
  const unknown = given.findIndex(scope => !names.has(scope))
  if (unknown !== -1)
    throw new Fault(
      invalidScopes,
      `/scopes/${unknown}: there is no scope ${JSON.stringify(given[unknown])}; sluice scope list shows the scopes`,
      { details: { field: `/scopes/${unknown}`, reason: 'unknown' } }
    )
  return [...new Set(given)]
}

/** Returns the networks in their shortest form, each once: 10.1.2.3/8 is 10.0.0.0/8. */
function parseSources(given: readonly string[] | null): readonly string[] | null {
  if (given === null) return null
  return [...new Set(given.map((text, at) => normalizeNetwork(text, `/allowed_sources/${at}`)))]
}

function normalizeNetwork(text: string, field: string): string {
  const [host = ''] = text.split('/', 1)
  const isExact = isIP(host) !== 0 && !host.includes('%') // ipaddr also accepts 127.1
  const cidr = text.includes('/') ? text : `${text}/${isIP(text) === 4 ? 32 : 128}`
  if (!isExact || !ipaddr.isValidCIDR(cidr))
    throw new Fault(
      invalidSchema,
      `${field} must be a network such as 192.0.2.0/24 or 2001:db8::/32, got ${JSON.stringify(text)}`,
      { details: { field, reason: 'format' } }
    )
  const [address, bits] = ipaddr.parseCIDR(cidr)
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96)
    return networkText(`${address.toIPv4Address()}/${bits - 96}`)
  return networkText(cidr)
}

function networkText(cidr: string): string {
  const [, bits] = ipaddr.parseCIDR(cidr)
  const isIpv4 = ipaddr.IPv4.isValidCIDR(cidr)
  const base = isIpv4 ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr)
  return `${base}/${bits}`
}

/** Throws `credential_too_broad` if `wanted` allows more than `own`. */
export function requireWithin(wanted: Limits, own: Limits): void {
  const field = broaderField(wanted, own)
  if (field === null) return
  throw tooBroad(
    field,
    `a token gives no other token more than it has itself: ${field} must be within its own`
  )
}

export const tooBroad = (field: LimitField, message: string): Fault =>
  new Fault(credentialTooBroad, message, { details: { field } })

type LimitField = 'scopes' | 'allowed_sources' | 'expires_in_secs'

const allSources = ['0.0.0.0/0', '::/0'] as const

function broaderField(wanted: Limits, own: Limits): LimitField | null {
  const { scopes, allowedSources, lifeMs } = wanted
  if (!(scopes ?? allScopes).every(scope => hasScope(own.scopes, scope))) return 'scopes'
  const networks = own.allowedSources ?? allSources
  if (!(allowedSources ?? allSources).every(source => networks.some(network => contains(network, source))))
    return 'allowed_sources'
  if (own.lifeMs !== null && (lifeMs === null || lifeMs > own.lifeMs)) return 'expires_in_secs'
  return null
}

/** True if all addresses of `inner` are in `outer`. */
function contains(outer: string, inner: string): boolean {
  const [base, bits] = ipaddr.parseCIDR(outer)
  const [address, innerBits] = ipaddr.parseCIDR(inner)
  return base.kind() === address.kind() && innerBits >= bits && address.match(base as never, bits)
}
