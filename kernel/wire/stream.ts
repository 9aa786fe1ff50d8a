// A control stream over a TLS socket after its handshake, for server and agent.
//
// An end that has sent nothing for 10 s (5 to 10 s, by ticks) sends an empty frame as a heartbeat. An end that has received
// nothing for 30 s (25 to 30 s) closes the stream. Ticks are counted, so that setting the clock ends no stream.
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { encodeFrame, frameLimit, frameParser, heartbeat } from './frame.ts'
import { type Codec, Refused } from './message.ts'
import { type ForwardingChannel, type Handlers, Rpc } from './rpc.ts'

export interface StreamOptions {
  readonly socket: Socket // a TLSSocket; owned by the stream from here on
  readonly codec: Codec
  readonly handlers: Handlers
  readonly clock: Clock
  readonly log: Log
  readonly limits?: Limits
}

interface Limits {
  readonly frameBytes?: number // of an incoming frame; 256 KiB
  readonly deadlineMs?: number // of a request; 10 s
}

const tickMs = 5_000
const heartbeatTicks = 2
const silentTicks = 6
const flushMs = 1_000
const maxUnsentBytes = 1024 * 1024
const drainedBytes = 256 * 1024

export class Stream {
  readonly channel: ForwardingChannel
  readonly #socket: Socket
  readonly #clock: Clock
  readonly #log: Log
  readonly #rpc: Rpc
  readonly #ended = new AbortController()
  readonly #stopTicking: () => void
  #frameBytes: number
  #ticksSinceSent = 0
  #ticksSinceReceived = 0
  readonly #waiting: (() => void)[] = [] // bulk senders

  constructor({ socket, codec, handlers, clock, log, limits = {} }: StreamOptions) {
    this.#socket = socket
    this.#clock = clock
    this.#log = log
    this.#frameBytes = limits.frameBytes ?? frameLimit
    const write = (body: Uint8Array) => this.#write(encodeFrame(body))
    const { deadlineMs } = limits
    this.#rpc = new Rpc({ codec, handlers, clock, log, write, handled: this.#readOn, deadlineMs })
    this.channel = { send: this.#rpc.send, request: this.#rpc.request, forward: this.#rpc.forward }
    this.#stopTicking = clock.every(tickMs, () => this.#tick())
    this.#listen()
  }

  /** Aborted when the stream ends. The reason is that of `end`, 'closed', 'silent', 'slow', or that of a bad frame. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** Ends the stream after it has flushed written data, for at most 1 s. */
  readonly end = (reason: string): void => this.#finish(reason, 'flush')

  /** Replaces the handlers and the limit of incoming frames. */
  readonly serve = (handlers: Handlers, frameBytes = this.#frameBytes): void => {
    this.#frameBytes = frameBytes
    this.#rpc.handlers = handlers
  }

  /** Resolves when at most 256 KiB wait to be sent. Bulk senders await it. */
  readonly drained = async (): Promise<void> => {
    while (this.#socket.writableLength > drainedBytes && !this.ended.aborted)
      await new Promise<void>(resolve => void this.#waiting.push(resolve))
  }

  #listen(): void {
    const socket = this.#socket
    const parse = frameParser(
      () => this.#frameBytes,
      body => {
        this.#ticksSinceReceived = 0
        if (!this.ended.aborted && body.length > 0) this.#rpc.receive(body)
      }
    )
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => {
      this.#parse(parse, chunk)
      if (this.#rpc.isFull) socket.pause()
    })
    socket.on('drain', () => this.#resumeSenders())
    socket.on('end', () => this.#finish('closed', 'flush'))
    socket.on('close', () => this.#finish('closed', 'cut'))
    socket.on('error', () => this.#finish('closed', 'cut'))
  }

  readonly #readOn = (): void => {
    if (!this.#rpc.isFull) this.#socket.resume()
  }

  #parse(parse: (chunk: Buffer) => void, chunk: Buffer): void {
    if (this.ended.aborted) return
    try {
      parse(chunk)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      this.#log.debug('control.stream_refused', error.message, { code: error.code })
      this.#finish(error.code.slice('wire.'.length), 'cut')
    }
  }

  #write(bytes: Uint8Array): void {
    if (this.ended.aborted) return
    this.#ticksSinceSent = 0
    this.#socket.write(bytes)
    if (this.#socket.writableLength > maxUnsentBytes) this.#finish('slow', 'cut')
  }

  #tick(): void {
    if (!this.#socket.isPaused()) this.#ticksSinceReceived += 1
    this.#ticksSinceSent += 1
    if (this.#ticksSinceReceived >= silentTicks) this.#finish('silent', 'cut')
    else if (this.#ticksSinceSent >= heartbeatTicks) this.#write(heartbeat)
  }

  #resumeSenders(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #finish(reason: string, how: 'flush' | 'cut'): void {
    if (this.ended.aborted) return
    this.#stopTicking()
    this.#rpc.close(reason)
    this.#ended.abort(reason)
    this.#resumeSenders()
    if (how === 'cut') return void this.#socket.destroy()
    // Destroying the socket now would reset the connection if bytes are unread, and lose the last writes.
    this.#socket.end()
    const cancel = this.#clock.after(flushMs, () => this.#socket.destroy())
    this.#socket.once('close', cancel)
  }
}
