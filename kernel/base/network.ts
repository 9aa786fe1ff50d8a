import ipaddr from 'ipaddr.js'

/** Returns the addresses that one host can have: an IPv4 address, or the /64 of an IPv6 address; other text as it is. */
export function networkOf(text: string): string {
  if (!ipaddr.isValid(text)) return text
  const address = ipaddr.process(text)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
