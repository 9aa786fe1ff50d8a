// Parses the addresses of all sources: hosts, ports, port ranges and prefixes.
import ipaddr from 'ipaddr.js'

export interface Ports {
  readonly from: number
  readonly to: number
}

/** Returns `8000` or `8000-8010` as ports; null for other text, port 0, or a reversed range. */
export function parsePorts(text: string, separator: '-' | ':' = '-'): Ports | null {
  const parts = text.split(separator)
  if (parts.length > 2 || !parts.every(part => /^\d{1,5}$/.test(part))) return null
  const from = Number(parts[0])
  const to = Number(parts.at(-1))
  return from >= 1 && from <= to && to <= 65_535 ? { from, to } : null
}

/** Splits at the last colon outside brackets: `[::1]:80`, `host:80`, `:80`. `ports` is null if there is none. */
export function splitHostPort(text: string): { readonly host: string; readonly ports: string | null } {
  const [, bracketed, port] = /^\[([^\]]*)\](?::(.*))?$/.exec(text) ?? []
  if (bracketed !== undefined) return { host: bracketed, ports: port ?? null }
  const at = text.lastIndexOf(':')
  return at < 0 ? { host: text, ports: null } : { host: text.slice(0, at), ports: text.slice(at + 1) }
}

/** True for an address that stands for all addresses of a host. */
export const isAnyAddress = (host: string): boolean => /^(\*|0\.0\.0\.0|::|0:0:0:0:0:0:0:0)?$/.test(host)

/** Returns the prefix in the stored form of rules; null for other text. */
export function parsePrefix(text: string): string | null {
  const [, address = '', bits] = /^([^/%]{1,64})(?:\/(\d{1,3}))?$/.exec(text) ?? []
  if (!ipaddr.IPv6.isValid(address) && !ipaddr.IPv4.isValidFourPartDecimal(address)) return null
  const host = ipaddr.parse(address)
  const full = host.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? full : Number(bits)
  if (length > full) return null
  return length === full ? host.toString() : `${host.toString()}/${length}`
}

/** True if an address is in both prefixes, which `parsePrefix` returned. */
export function overlaps(one: string, other: string): boolean {
  const [first, firstBits] = toCidr(one)
  const [second, secondBits] = toCidr(other)
  return first.kind() === second.kind() && first.match(second, Math.min(firstBits, secondBits))
}

function toCidr(prefix: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (prefix.includes('/')) return ipaddr.parseCIDR(prefix)
  const address = ipaddr.parse(prefix)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/
const numeric = /^(\d+|0x[0-9a-f]*)$/

/** Returns the host of a target as rules accept it: an address or a DNS name in lower case; null for other text. */
export function parseTargetHost(host: string): string | null {
  if (ipaddr.IPv6.isValid(host) || ipaddr.IPv4.isValidFourPartDecimal(host)) {
    if (host.includes('%')) return null
    const range = ipaddr.process(host).range()
    return /^(unspecified|multicast|broadcast)$/.test(range) ? null : host.toLowerCase()
  }
  return isDnsName(host.toLowerCase().replace(/\.$/, '')) ? host.toLowerCase().replace(/\.$/, '') : null
}

/** Returns a server name or wildcard as the rule field `sni_pattern` accepts it; null for other text. */
export function parseSniPattern(text: string): string | null {
  const pattern = text.toLowerCase().replace(/\.$/, '')
  const name = pattern.startsWith('*.') ? pattern.slice(2) : pattern
  if (pattern.length > 253 || !isDnsName(name)) return null
  return pattern === name || name.includes('.') ? pattern : null
}

function isDnsName(name: string): boolean {
  const labels = name.split('.')
  return name.length <= 253 && labels.every(part => label.test(part)) && !numeric.test(labels.at(-1) ?? '')
}

/** Returns seconds for `30`, `30s`, `500ms`, `2m`; `unit` is that of a bare number. null for other text. */
export function parseSeconds(text: string, unit: 's' | 'ms'): number | null {
  const [, digits, given = unit] = /^(\d{1,9})(us|ms|s|m|h|d)?$/.exec(text) ?? []
  const scale: Readonly<Record<string, number>> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86_400 }
  return digits === undefined ? null : Number(digits) * (scale[given] ?? 1)
}
