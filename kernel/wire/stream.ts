// A control stream over a socket that has done its TLS handshake; the same for server and agent.
//
// Silence: each end sends an empty frame where it has said nothing for 10 s (5 to 10 s, by ticks), and gives the
// stream up when it has heard nothing for 30 s (25 to 30 s). Nothing is answered: both ends beat. Ticks are counted
// and no times compared, so that a clock that is set ends no stream.
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Codec } from './codec.ts'
import { frame, frameLimit, heartbeat, openFrames } from './frame.ts'
import { type BoundHandler, Refused } from './message.ts'
import { type MessageChannel, openRpc } from './rpc.ts'

export interface StreamOptions {
  readonly socket: Socket // a TLSSocket; owned by the stream from here on
  readonly codec: Codec
  readonly handlers: readonly BoundHandler[]
  readonly clock: Clock
  readonly log: Log
  readonly limits?: Limits
}

export interface Limits {
  readonly frameBytes?: number // of an incoming frame; 256 KiB
  readonly deadlineMs?: number // of a question; 10 s
}

export interface Stream {
  readonly channel: MessageChannel
  /** Aborted when nothing more can be said; its reason is a word: see `end`, and 'closed' for the other end's. */
  readonly ended: AbortSignal
  /** What was written before is still sent, for at most 1 s. */
  end(reason: string): void
  /** What may be said from now on, and how large a frame may be. */
  serve(handlers: readonly BoundHandler[], frameBytes?: number): void
  /** Resolves when what is written goes out: before this, a sender of much does not send more. */
  drained(): Promise<void>
}

const tickMs = 5_000
const unspokenTicks = 2
const unheardTicks = 6
const lastWordsMs = 1_000
const outboundLimit = 1024 * 1024
const roomLimit = 256 * 1024

export function openStream({ socket, codec, handlers, clock, log, limits = {} }: StreamOptions): Stream {
  const ended = new AbortController()
  let frameBytes = limits.frameBytes ?? frameLimit
  let unspoken = 0
  let unheard = 0
  const waiting = new Set<() => void>() // for room
  const letGo = (): void => {
    for (const go of waiting) go()
    waiting.clear()
  }

  function write(bytes: Uint8Array): void {
    if (ended.signal.aborted) return
    unspoken = 0
    socket.write(bytes)
    if (socket.writableLength > outboundLimit) finish('slow', 'cut')
  }

  const exchange = openRpc({
    codec,
    handlers,
    write: body => write(frame(body)),
    clock,
    log,
    ...(limits.deadlineMs !== undefined && { deadlineMs: limits.deadlineMs })
  })

  function finish(reason: string, how: 'flush' | 'cut'): void {
    if (ended.signal.aborted) return
    stopTicking()
    exchange.close(reason)
    ended.abort(reason)
    letGo()
    if (how === 'cut') return void socket.destroy()
    // Not destroyed at once: bytes that nobody has read would make it a reset, and the last words would be lost.
    socket.end()
    const release = clock.after(lastWordsMs, () => socket.destroy())
    socket.once('close', release)
  }

  const stopTicking = clock.every(tickMs, () => {
    unheard += 1
    unspoken += 1
    if (unheard >= unheardTicks) finish('silent', 'cut')
    else if (unspoken >= unspokenTicks) write(heartbeat)
  })

  const take = openFrames(
    () => frameBytes,
    body => {
      unheard = 0
      if (!ended.signal.aborted && body.length > 0) exchange.receive(body)
    }
  )

  socket.setNoDelay(true)
  socket.on('data', (chunk: Buffer) => {
    if (ended.signal.aborted) return
    try {
      take(chunk)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      log.debug('control.stream_refused', error.message, { code: error.code })
      finish(error.code.slice('wire.'.length), 'cut')
    }
  })
  socket.on('drain', letGo)
  socket.on('end', () => finish('closed', 'flush'))
  socket.on('close', () => finish('closed', 'cut'))
  socket.on('error', () => finish('closed', 'cut'))

  return {
    channel: { send: exchange.send, request: exchange.request },
    ended: ended.signal,
    end: reason => finish(reason, 'flush'),
    serve(next, bytes = frameBytes) {
      frameBytes = bytes
      exchange.serve(next)
    },
    async drained() {
      while (socket.writableLength > roomLimit && !ended.signal.aborted)
        await new Promise<void>(resolve => void waiting.add(resolve))
    }
  }
}
