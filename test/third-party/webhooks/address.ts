// Restricts endpoints without `allow_private` to public addresses. The connection uses the checked address, since a
// second lookup could return a different one.
import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

// IPv4: ranges that IANA lists as not globally reachable. IPv6: everything outside 2000::/3, and the exceptions within it.
const special4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3]
] as const
const special6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20]
] as const

const special = new BlockList()
for (const [net, bits] of special4) special.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of special6) special.addSubnet(net, bits, 'ipv6')
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

export const isPublic = (address: string): boolean =>
  isIP(address) === 4
    ? !special.check(address, 'ipv4')
    : isIP(address) === 6 && global6.check(address, 'ipv6') && !special.check(address, 'ipv6')

export type Resolve = (
  name: string,
  options: { readonly all: true },
  done: (error: Error | null, addresses: LookupAddress[]) => void
) => void

/** Makes the `lookup` of `net.connect` return only public addresses. For literal addresses see `refusePrivate`. */
export const lookupPublic =
  (resolve: Resolve = lookup): LookupFunction =>
  (name, { all }, done) =>
    resolve(name, { all: true }, (error, addresses) => {
      const allowed = addresses?.filter(({ address }) => isPublic(address)) ?? []
      const [first] = allowed
      if (error) done(error, [])
      else if (!first) done(new Error(`${name} has no public address; see allow_private`), [])
      else if (all) done(null, allowed)
      else done(null, first.address, first.family)
    })

/** Throws if the URL contains a literal address that is not public. */
export function refusePrivate({ hostname }: URL): void {
  const address = hostname.replace(/^\[|\]$/g, '')
  if (isIP(address) !== 0 && !isPublic(address))
    throw new Error(`${address} is not a public address; see allow_private`)
}
