// Stands between an agent and its server: it sees only ciphertext, so it splits, holds back and cuts.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Dice } from '../bench/soak/dice.ts'
import type { Ground } from '../kit/site.ts'

export interface ControlProxy {
  readonly port: number
  /** Whole connections, in the middle of whatever they say. */
  cut(): void
  /** Cuts each connection when the server has said so little more: a report may be booked and its answer lost. */
  cutBeforeAnswer(): void
  /** Nothing passes until `go`. */
  hold(): void
  go(): void
}

type Way = 'up' | 'down'

export async function openProxy(t: Ground, dice: Dice, controlPort: number): Promise<ControlProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let isHeld = false
  let isDeaf = false

  /** In pieces of any size, so that a frame seldom arrives as it was written. */
  function split(chunk: Buffer): Buffer[] {
    const pieces: Buffer[] = []
    for (let at = 0; at < chunk.length; ) {
      const size = dice.below(4) === 0 ? 1 + dice.below(chunk.length) : chunk.length
      pieces.push(chunk.subarray(at, at + size))
      at += size
    }
    return pieces
  }

  function carry(from: Socket, to: Socket, way: Way): void {
    from.on('data', chunk => {
      if (isDeaf && way === 'down') return void from.destroy()
      for (const piece of split(chunk)) to.write(piece)
    })
    from.on('end', () => to.end())
    from.on('close', () => to.destroy())
    from.on('error', () => to.destroy())
  }

  const proxy = createServer({ noDelay: true }, near => {
    const far = connect({ port: controlPort, host: '127.0.0.1', noDelay: true })
    const pair = [near, far] as const
    pairs.add(pair)
    near.on('close', () => {
      pairs.delete(pair)
      isDeaf = false
    })
    carry(near, far, 'up')
    carry(far, near, 'down')
    if (isHeld) for (const socket of pair) socket.pause()
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const cut = (): void => {
    for (const [near] of pairs) near.destroy()
  }
  const toAll = (what: 'pause' | 'resume'): void => {
    for (const pair of pairs) for (const socket of pair) socket[what]()
  }
  t.teardown(() => {
    proxy.close()
    cut()
  })

  return {
    port: (proxy.address() as AddressInfo).port, // of a TCP listener
    cut,
    cutBeforeAnswer() {
      isDeaf = true
    },
    hold() {
      isHeld = true
      toAll('pause')
    },
    go() {
      isHeld = false
      toAll('resume')
    }
  }
}
