// The sockets of one UDP port. Node does not tell which of our addresses a datagram was sent to, and a reply must
// come from there: so every local address has a socket of its own, and what it receives it answers.
import { networkInterfaces } from 'node:os'
import type { EngineRule } from '../../engine.ts'
import { type Family, familyOf, isUnspecified } from '../../net/address.ts'
import type { Ground } from '../engine-context.ts'
import { fault, faultOf } from '../engine-fault.ts'
import type { Descriptors } from '../net/descriptors.ts'
import { bindSocket, type Datagrams, type Holding, type Place } from './udp-socket.ts'

const rescanMs = 5_000

/** `door` is the way back: from the address that the caller has sent to. */
export type OnDatagram = (port: number, bytes: Buffer, from: Place, door: Datagrams) => void

/** Resolves when the last socket is closed. */
export type CloseUdp = () => Promise<void>

/** Every port on every address of `bind`, or none: rejects with an EngineFault. */
export async function listenUdp(
  { from, to }: Pick<EngineRule, 'from' | 'to'>,
  { bind, descriptors }: Pick<Ground, 'bind' | 'descriptors'>,
  onDatagram: OnDatagram
): Promise<CloseUdp> {
  const closes: CloseUdp[] = []
  const close = async () => void (await Promise.all(closes.map(close => close())))
  try {
    for (let port = from; port <= to; port++) closes.push(openPort(bind, port, descriptors, onDatagram))
    return close
  } catch (error) {
    await close()
    throw error
  }
}

function openPort(
  bind: readonly string[],
  port: number,
  descriptors: Descriptors,
  onDatagram: OnDatagram
): CloseUdp {
  const doors = new Map<string, Datagrams>()
  const closings = new Set<Promise<void>>()
  let scannedAt = Number.NEGATIVE_INFINITY

  const openDoor = (address: string, holding: Holding): void => {
    if (!descriptors.take(1)) throw fault('EMFILE', `port ${port}: too few descriptors are left`)
    try {
      const door = bindSocket({ address, port }, holding, {
        onMessage(bytes, from) {
          onDatagram(port, bytes, from, door)
          if (isUnspecified(address) && holding === 'shared') rescan(familyOf(address))
        },
        onError() {} // about a reply that did not arrive, which a caller may cause at will
      })
      doors.set(address, door)
    } catch (error) {
      descriptors.give(1)
      throw error
    }
  }
  const shutDoor = (address: string, door: Datagrams) => {
    doors.delete(address)
    const closing = door.close().then(() => {
      descriptors.give(1)
      closings.delete(closing)
    })
    closings.add(closing)
  }
  const close = async () => {
    for (const [address, door] of doors) shutDoor(address, door)
    await Promise.all(closings)
  }

  /** Why some of the addresses have no socket; the wildcard's socket has them meanwhile. */
  const openLocal = (family: Family): unknown[] =>
    localAddresses(family)
      .filter(address => !doors.has(address))
      .flatMap(address => {
        try {
          openDoor(address, 'shared')
          return []
        } catch (error) {
          return [error]
        }
      })
  /** A datagram came to an address that was not there, or not ready, when the port was opened. */
  const rescan = (family: Family) => {
    if (performance.now() - scannedAt < rescanMs) return
    scannedAt = performance.now()
    const local = localAddresses(family)
    for (const [address, door] of doors)
      if (familyOf(address) === family && !isUnspecified(address) && !local.includes(address))
        shutDoor(address, door)
    openLocal(family)
  }
  const openEverywhere = (address: string) => {
    const isShared = isUnspecified(address) && canShare
    // If nobody else has the port, those that share it are ours.
    if (isShared) void bindSocket({ address, port }, 'alone', deaf).close()
    openDoor(address, isShared ? 'shared' : 'alone')
    if (!isShared) return
    const failure = openLocal(familyOf(address)).find(error => codeOf(error) !== 'EADDRNOTAVAIL')
    if (failure !== undefined) throw failure
  }

  for (const address of new Set(bind))
    try {
      openEverywhere(address)
    } catch (error) {
      if (address === '::' && hasNoIpv6(error)) continue
      void close()
      throw faultOf(error, `${address} port ${port}`)
    }
  if (doors.size > 0) return close
  throw fault('EINVAL', `port ${port}: no address of ${bind.join(', ')} is usable`)
}

const deaf = { onMessage() {}, onError() {} }

/** Elsewhere a wildcard's socket is alone, and the system chooses the address that replies come from. */
const canShare = process.platform === 'linux'

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? '' // node:dgram throws nothing else
const hasNoIpv6 = (error: unknown) => ['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(codeOf(error))

/** As they are now; a link-local address is of its interface. */
function localAddresses(family: Family): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, all = []]) =>
    all
      .filter(({ address }) => familyOf(address) === family)
      .map(({ address, scopeid = 0 }) => (scopeid === 0 ? address : `${address}%${name}`))
  )
}
