// Refuses DNS rebinding: a page's name may resolve to this host, and its browser then sends that name as Host.
import { isIP } from 'node:net'
import { isLoopback } from '../../../kernel/platform/network.ts'

/** Returns true if a request with this `Host`, received at this local address, may be answered. */
export type HostCheck = (host: string | undefined, localAddress: string | undefined) => boolean

interface Keys {
  readonly operator_http_hosts?: readonly string[]
  readonly operator_http_public_origin?: string | undefined
}

/** Judges names of requests that reach a loopback address; with `operator_http_hosts`, of all requests. */
export function openHostCheck({ operator_http_hosts: hosts = [], ...keys }: Keys): HostCheck {
  const origin = keys.operator_http_public_origin
  const known = new Set([
    'localhost',
    ...hosts,
    ...(origin === undefined ? [] : [nameIn(new URL(origin).host)])
  ])
  return (host, localAddress = 'localhost') => {
    const isJudged = hosts.length > 0 || isLoopback(localAddress)
    if (!isJudged || host === undefined) return true // browsers always send it
    const name = nameIn(host)
    return isIP(name) !== 0 || known.has(name)
  }
}

/** Returns the lower-case name or address in 'name', 'name:port' or '[address]:port'. */
const nameIn = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
