import type { Socket } from 'node:net'
import { type Hello, maxHelloBytes, readHello } from './client-hello.ts'

const peekMs = 3_000

/** Or what came before: its end, a reset, the time limit. */
export type Peeked = Exclude<Hello, 'incomplete'> | 'ended' | 'gone' | 'late'

/** Looks at what a caller says first, and leaves it there to be read. */
export function peekHello(caller: Socket): Promise<Peeked> {
  const { promise, resolve } = Promise.withResolvers<Peeked>()
  let seen = Buffer.alloc(0)

  const settle = (peeked: Peeked) => {
    clearTimeout(limit)
    caller.off('readable', look).off('end', onEnd).off('close', onClose)
    if (seen.length > 0 && !caller.readableEnded) caller.unshift(seen)
    resolve(peeked)
  }
  const look = () => {
    const chunk: Buffer | null = caller.read()
    if (chunk === null) return
    seen = Buffer.concat([seen, chunk])
    const hello = readHello(seen)
    if (hello !== 'incomplete') settle(hello)
    else if (seen.length >= maxHelloBytes) settle('not-tls')
  }
  const onEnd = () => settle('ended')
  const onClose = () => settle('gone')
  const limit = setTimeout(() => settle('late'), peekMs)

  caller.on('readable', look)
  caller.once('end', onEnd)
  caller.once('close', onClose)
  return promise
}
