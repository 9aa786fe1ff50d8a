import ipaddr from 'ipaddr.js'
import { addressForms } from './address-forms.ts'

/** Returns an IPv4 address, also that in a translated or tunneled one, or the /64 of another; other text unchanged. */
export function networkOf(text: string): string {
  if (!ipaddr.isValid(text)) return text
  const address = ipaddr.process(text)
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  const [, ipv4 = address.parts.slice(0, 4).join(':')] = addressForms(text)
  return ipv4
}

/** True for loopback addresses in every form, and for `localhost`. IPv6 addresses have no brackets. */
export const isLoopback = (host: string): boolean =>
  /^localhost\.?$/i.test(host) || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback')
