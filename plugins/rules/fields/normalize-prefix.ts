import ipaddr from 'ipaddr.js'

/** Normalizes an address or a prefix: IPv4-mapped becomes IPv4, host bits are cleared. Returns null for other text. */
export function normalizePrefix(text: string): string | null {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  if (!ipaddr.IPv6.isValid(address) && !ipaddr.IPv4.isValidFourPartDecimal(address)) return null
  const host = ipaddr.process(address)
  const mapped = ipaddr.parse(address).kind() === host.kind() ? 0 : 96
  const full = host.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? full : Number(bits) - mapped
  if (length < 0 || length > full) return null
  if (length === full) return host.toString()
  const kind = host.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  return `${kind.networkAddressFromCIDR(`${host}/${length}`)}/${length}`
}
