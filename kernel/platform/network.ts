import ipaddr from 'ipaddr.js'
import { addressForms } from './address-forms.ts'

/**
 * Returns the network of one host: an IPv4 address, also that in a translated or tunneled address, or the /64 of an IPv6
 * address. Returns other text unchanged.
 */
export function networkOf(text: string): string {
  if (!ipaddr.isValid(text)) return text
  const address = ipaddr.process(text)
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  const [, ipv4 = address.parts.slice(0, 4).join(':')] = addressForms(text)
  return ipv4
}
