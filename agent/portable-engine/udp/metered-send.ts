// What a flow sends passes its meters, and is counted when the system has taken it.

import { reject, type Tally } from '../counters.ts'
import type { Direction } from '../meters/meter.ts'
import type { Pass } from '../meters/meter-chain.ts'
import type { Datagrams, Place } from './udp-socket.ts'

export interface Account {
  readonly tally: Tally
  readonly port: Tally['ports'][number]
  readonly target: Tally['targets'][number]
  readonly pass: Pass
}

export interface Parcel {
  readonly direction: Direction
  readonly bytes: Buffer
  readonly by: Datagrams
  readonly to: Place | null // the peer of `by`
}

/** `onLost`: the system has not taken it. What a meter does not let pass is dropped, and said to be. */
export function send(
  { direction, bytes, by, to }: Parcel,
  account: Account,
  onLost: (errno: string) => void
): void {
  const { pass, tally } = account
  const refusal = pass.admit(direction, bytes.length)
  if (refusal !== null) {
    reject(tally, refusal)
    return
  }
  by.send(bytes, to, errno => {
    if (errno === null) {
      count(direction, bytes.length, account)
      return
    }
    pass.returned(bytes.length)
    onLost(errno)
  })
}

const keysOf = { in: ['bytesIn', 'datagramsIn'], out: ['bytesOut', 'datagramsOut'] } as const

function count(direction: Direction, bytes: number, { pass, port, target }: Account): void {
  const [bytesKey, datagramsKey] = keysOf[direction]
  pass.delivered(direction, bytes)
  port[bytesKey] += bytes
  port[datagramsKey]++
  target[bytesKey] += bytes
}
