import type { Socket } from 'node:net'
import { type ClientHello, maxClientHelloBytes, parseClientHello } from './client-hello.ts'

const peekMs = 3_000

/** The ClientHello, or what came first: the caller's FIN, its socket closing, or the time limit. */
export type PeekOutcome = Exclude<ClientHello, 'incomplete'> | 'ended' | 'closed' | 'timeout'

/** Reads the ClientHello of a caller and puts the bytes back, to be read again. */
export function peekClientHello(caller: Socket): Promise<PeekOutcome> {
  const { promise, resolve } = Promise.withResolvers<PeekOutcome>()
  let received = Buffer.alloc(0)

  const settle = (outcome: PeekOutcome) => {
    clearTimeout(limit)
    caller.off('readable', onReadable).off('end', onEnd).off('close', onClose)
    if (received.length > 0 && !caller.readableEnded) caller.unshift(received)
    resolve(outcome)
  }
  const onReadable = () => {
    const chunk: Buffer | null = caller.read()
    if (chunk === null) return
    received = Buffer.concat([received, chunk])
    const hello = parseClientHello(received)
    if (hello !== 'incomplete') settle(hello)
    else if (received.length >= maxClientHelloBytes) settle('not-tls')
  }
  const onEnd = () => settle('ended')
  const onClose = () => settle('closed')
  const limit = setTimeout(() => settle('timeout'), peekMs)

  caller.on('readable', onReadable)
  caller.once('end', onEnd)
  caller.once('close', onClose)
  return promise
}
