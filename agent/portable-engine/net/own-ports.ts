import { canonicalAddress, familyOf, isLocalAddress, isUnspecified } from '../../net/address.ts'

/** The ports that this engine listens on: a dial to one of them would feed a connection to itself. */
export interface OwnPorts {
  join(from: number, to: number): void
  leave(from: number, to: number): void
  includes(address: string, port: number): boolean
}

export function openOwnPorts(bind: readonly string[]): OwnPorts {
  const bound = bind.map(canonicalAddress)
  const ports = new Set<number>()

  const isBound = (address: string) =>
    bound.includes(address) ||
    (bound.some(own => isUnspecified(own) && familyOf(own) === familyOf(address)) && isLocalAddress(address))
  // Dialling the unspecified address reaches the loopback address of its family.
  const dialled = (address: string) => {
    if (!isUnspecified(address)) return address
    return familyOf(address) === 'ipv4' ? '127.0.0.1' : '::1'
  }

  return {
    join(from, to) {
      for (let port = from; port <= to; port++) ports.add(port)
    },
    leave(from, to) {
      for (let port = from; port <= to; port++) ports.delete(port)
    },
    includes: (address, port) => ports.has(port) && isBound(dialled(address))
  }
}
