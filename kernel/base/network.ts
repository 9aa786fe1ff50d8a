import ipaddr from 'ipaddr.js'

/** Returns the network of one host: an IPv4 address, or the /64 of an IPv6 address. Returns other text unchanged. */
export function networkOf(text: string): string {
  if (!ipaddr.isValid(text)) return text
  const address = ipaddr.process(text)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
