import ipaddr from 'ipaddr.js'

/** IPv6 addresses in hex that translators and tunnels turn into an IPv4 address, with its place in them. */
const transitions: readonly RegExp[] = [
  /^0064ff9b0{16}(.{8})$/, // NAT64, RFC 6052
  /^0064ff9b0001(.{4})..(.{4})0{10}$/, // NAT64 with a local prefix, RFC 8215: /48
  /^0064ff9b0001..(..)..(.{6})0{8}$/, // /56
  /^0064ff9b0001.{6}(.{8})0{6}$/, // /64
  /^0064ff9b0001.{12}(.{8})$/, // /96
  /^2002(.{8})/, // 6to4, RFC 3056
  /^20010000.{16}(.{8})$/, // Teredo, RFC 4380: inverted
  /^0{16}ffff0000(.{8})$/, // SIIT, RFC 2765
  /^0{20}(?:0{4}|ffff)(?!0{7}[01])(.{8})$/ // IPv4-compatible, RFC 4291; ipaddr.js reads ::1.2.3.4 as IPv4-mapped
]

/** Returns the canonical address, and the IPv4 address that it leads to, if any. Lists must allow both. */
export function addressForms(address: string): readonly string[] {
  if (!address.includes(':')) return [address]
  const hex = Buffer.from(ipaddr.parse(address).toByteArray()).toString('hex')
  const found = transitions.map(form => form.exec(hex)).find(found => found !== null)
  if (!found) return [address]
  const bytes = Buffer.from(found.slice(1).join(''), 'hex')
  return [address, bytes.map(byte => (hex.startsWith('20010000') ? ~byte : byte)).join('.')]
}
