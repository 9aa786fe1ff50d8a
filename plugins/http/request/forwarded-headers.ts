import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Brings X-Forwarded-For and X-Forwarded-Proto to one form: addresses without ports and brackets, the protocol in lower case.
 * Some proxies add the caller's port, and a port would make each connection another caller. Leaves other text as it is.
 */
export function normalizeForwarded(headers: IncomingHttpHeaders): void {
  const addresses = headers['x-forwarded-for']
  const protocol = headers['x-forwarded-proto']
  if (addresses !== undefined)
    headers['x-forwarded-for'] = String(addresses)
      .split(',')
      .map(entry => parseAddress(entry) ?? entry.trim())
      .join(', ')
  if (protocol !== undefined) headers['x-forwarded-proto'] = String(protocol).toLowerCase()
}

/** Returns the address in its shortest form, an IPv4-mapped one as IPv4; null: the text is no address. */
export function parseAddress(text: string): string | null {
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? []
  const address = bracketed ?? dotted ?? text.trim()
  return isIP(address) === 0 ? null : ipaddr.process(address).toString()
}
