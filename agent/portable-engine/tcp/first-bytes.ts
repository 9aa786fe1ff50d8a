import type { Socket } from 'node:net'
import { type ProxyHeader, parseProxyHeader } from '../proxy-header.ts'
import { type ClientHello, maxClientHelloBytes, parseClientHello } from './client-hello.ts'

const limitMs = 3_000

/** Why the expected bytes are missing: the caller's FIN after other bytes, a closed socket, or the time limit. */
export type Missing = { readonly ended: Buffer } | 'closed' | 'timeout'

/** Reads the ClientHello of a caller and puts the bytes back, to be read again. */
export const peekClientHello = (caller: Socket): Promise<Exclude<ClientHello, 'incomplete'> | Missing> =>
  readFirst(caller, bytes => {
    const hello = parseClientHello(bytes)
    if (hello !== 'incomplete') return { result: hello, taken: 0 }
    return bytes.length >= maxClientHelloBytes ? { result: 'not-tls', taken: 0 } : null
  })

/** Reads the header that a sender writes before the caller's bytes. Puts back a wrong one. */
export const readProxyHeader = (caller: Socket): Promise<ProxyHeader | Missing> =>
  readFirst(caller, bytes => {
    const header = parseProxyHeader(bytes, 'stream')
    return header.kind === 'incomplete' ? null : { result: header, taken: header.size }
  })

/** Reads until `judge` has a result; null: it needs more. Puts back all bytes that are not taken. */
function readFirst<Result>(
  caller: Socket,
  judge: (bytes: Buffer) => { readonly result: Result; readonly taken: number } | null
): Promise<Result | Missing> {
  const { promise, resolve } = Promise.withResolvers<Result | Missing>()
  let received = Buffer.alloc(0)

  const settle = (outcome: Result | Missing) => {
    clearTimeout(limit)
    caller.off('readable', onReadable).off('end', onEnd).off('close', onClose)
    if (received.length > 0 && !caller.readableEnded) caller.unshift(received)
    resolve(outcome)
  }
  const onReadable = () => {
    const chunk: Buffer | null = caller.read()
    if (chunk === null) return
    received = Buffer.concat([received, chunk])
    const judged = judge(received)
    if (judged === null) return
    received = received.subarray(judged.taken)
    settle(judged.result)
  }
  const onEnd = () => settle({ ended: received })
  const onClose = () => settle('closed')
  const limit = setTimeout(() => settle('timeout'), limitMs)

  caller.on('readable', onReadable)
  caller.once('end', onEnd)
  caller.once('close', onClose)
  if (caller.destroyed) onClose()
  else if (caller.readableEnded) onEnd()
  return promise
}
