// Messages and requests over one stream of frames, the same for server and agent.
import type { Static, TSchema } from 'typebox'
import { attributionOf, withTimeout } from '../base/attribution.ts'
import type { Clock } from '../base/clock.ts'
import { Fault, stackOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { currentRequestId } from '../base/request-id.ts'
import { currentTrace, inSpan } from '../base/trace.ts'
import { Envelope, Refusal } from './envelope.ts'
import {
  type BoundHandler,
  type Codec,
  type Message,
  Refused,
  type Request,
  type Response
} from './message.ts'

export interface MessageChannel {
  send<B extends TSchema>(message: Message<B>, body: Static<B>): void
  /** Rejects with Refused: the other end's code, 'wire.deadline', or 'wire.closed' if the stream has ended. */
  request<B extends TSchema, A extends TSchema>(
    request: Request<B, A>,
    body: Static<B>,
    options?: { readonly deadlineMs?: number }
  ): Promise<Static<A>>
}

export interface ForwardingChannel extends MessageChannel {
  /** Forwards an encoded request and returns the encoded response, which may be a refusal. */
  forward(request: Response, deadlineMs?: number): Promise<Response>
}

/** Decodes a response. Throws Refused if it is a refusal. */
export function answerOf<A extends TSchema>(
  codec: Codec,
  response: Message<A>,
  { name, body }: Response
): Static<A> {
  if (name === response.name) return codec.decode(response, body)
  const { code, message } = codec.decode(Refusal, body)
  throw new Refused(code, message)
}

interface Options {
  readonly codec: Codec
  readonly handlers: Handlers
  readonly write: (frame: Uint8Array) => void
  readonly clock: Clock
  readonly log: Log
  readonly handled: () => void // called after each message or group
  readonly deadlineMs: number | undefined // of a request; default 10 s
}

interface Incoming extends Response {
  readonly id: number
  readonly request: string
  readonly trace?: string
}

type HandlerName = Pick<BoundHandler, 'name' | 'plugin'>
/** A list, or a function that finds the handler of a message. */
export type Handlers = readonly BoundHandler[] | ((name: string) => BoundHandler | undefined)

// Bounds the queue of received messages: beyond it, reading pauses. A message counts its bytes plus 256.
const maxQueuedBytes = 1024 * 1024
const queuedBytesOf = ({ body }: Incoming): number => body.length + 256

/** Handles messages and requests in order, one by one or in groups, except concurrent ones. Responses bypass the queue. */
export class Rpc implements ForwardingChannel {
  readonly #options: Omit<Options, 'handlers'>
  readonly #pending = new Map<number, PromiseWithResolvers<Response>>() // requests of this end, by id
  readonly #queue: Incoming[] = []
  #queuedBytes = 0
  #isHandling = false
  handlers: Handlers // the stream replaces them
  #closed: Refused | null = null
  #lastId = 0

  constructor({ handlers, ...options }: Options) {
    this.#options = options // `handlers` is separate: it changes
    this.handlers = handlers
  }

  readonly send: MessageChannel['send'] = (message, body) =>
    this.#write({ name: message.name, body: this.#options.codec.encode(message, body) })

  readonly request: MessageChannel['request'] = ({ response, ...request }, body, options) =>
    inSpan(request.name, async span => {
      const { codec } = this.#options
      const message = { name: request.name, body: codec.encode(request, body) }
      const answer = await this.forward(message, options?.deadlineMs)
      if (answer.handled_us) span?.addRemote('handle', answer.handled_us / 1000)
      return answerOf(codec, response, answer)
    })

  readonly forward: ForwardingChannel['forward'] = (
    request,
    deadlineMs = this.#options.deadlineMs ?? 10_000
  ) => {
    const id = ++this.#lastId
    this.#write(request, { id })
    return this.#responseTo(id, deadlineMs)
  }

  get isFull(): boolean {
    return this.#queuedBytes > maxQueuedBytes
  }

  /** Handles one frame. Throws Refused if it is malformed; the stream must then end. */
  receive(frame: Uint8Array): void {
    const { re, ...incoming } = this.#options.codec.decode(Envelope, frame)
    if (re !== 0) return void this.#pending.get(re)?.resolve(incoming)
    this.#queuedBytes += queuedBytesOf(incoming)
    this.#queue.push(incoming)
    void this.#handleQueue()
  }

  close(reason: string): void {
    this.#closed ??= new Refused('wire.closed', `the stream has ended: ${reason}`)
    this.#queue.length = 0
    for (const { reject } of this.#pending.values()) reject(this.#closed)
  }

  #write({ name, body }: Response, ids: { id?: number; re?: number; handled_us?: number } = {}): void {
    if (this.#closed) return
    const request = currentRequestId.getStore() ?? ''
    const trace = currentTrace.getStore()?.traceparent
    const envelope = { name, body, id: 0, re: 0, request, ...(trace && { trace }), ...ids }
    this.#options.write(this.#options.codec.encode(Envelope, envelope))
  }

  #responseTo(id: number, deadlineMs: number): Promise<Response> {
    if (this.#closed) return Promise.reject(this.#closed)
    const pending = Promise.withResolvers<Response>()
    this.#pending.set(id, pending)
    const cancel = this.#options.clock.after(deadlineMs, () =>
      pending.reject(new Refused('wire.deadline', `no answer within ${deadlineMs / 1000} s`))
    )
    return pending.promise.finally(() => {
      cancel()
      this.#pending.delete(id)
    })
  }

  async #handleQueue(): Promise<void> {
    if (this.#isHandling) return
    this.#isHandling = true
    const group: Promise<void>[] = []
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      this.#queuedBytes -= queuedBytesOf(next)
      const handler = this.#handlerOf(next.name)
      const handle = this.#handle.bind(this, next, handler)
      const handled = next.request === '' ? handle() : currentRequestId.run(next.request, handle)
      if (!handler?.isConcurrent) group.push(handled)
      if (this.#queue[0]?.name === next.name && handler?.isGrouped) continue
      await Promise.all(group.splice(0))
      this.#options.handled()
    }
    this.#isHandling = false
  }

  #handlerOf = (name: string, { handlers } = this): BoundHandler | undefined =>
    typeof handlers === 'function' ? handlers(name) : handlers.find(handler => handler.name === name)

  async #handle({ name: fullName, body, id, trace }: Incoming, handler: BoundHandler | undefined) {
    const name = fullName.slice(0, 100)
    const startedAt = this.#options.clock.monotonic()
    try {
      if (!handler) throw new Refused('wire.unknown_message', `unknown message ${name}`)
      const run = () => withTimeout(20, name, () => handler.run(this.#options.codec, body))
      const response = await (trace ? currentTrace.run({ traceparent: trace }, run) : run())
      const handled_us = trace && Math.round((this.#options.clock.monotonic() - startedAt) * 1000)
      if (id !== 0 && response) this.#write(response, { re: id, ...(handled_us && { handled_us }) })
      if (!this.#closed) response?.afterSend?.()
    } catch (error) {
      this.#refuse(error, id, { name, plugin: handler?.plugin })
    }
  }

  /** Messages without an id get no refusal: two ends could refuse each other's refusals forever. */
  #refuse(error: unknown, id: number, handler: HandlerName): void {
    const { codec, log } = this.#options
    const { code, message } = this.#refusalOf(error, handler)
    if (id === 0) return void log.debug('control.message_refused', message, { message: handler.name, code })
    const body = codec.encode(Refusal, { code: code.slice(0, 64), message: message.slice(0, 1000) })
    this.#write({ name: Refusal.name, body }, { re: id })
  }

  #refusalOf(error: unknown, { name, plugin }: HandlerName): Static<(typeof Refusal)['body']> {
    if (error instanceof Refused) return error
    if (error instanceof Fault) return { code: error.errorCode.code, message: error.message }
    const fields = { message: name, plugin, ...attributionOf(error), error: stackOf(error) }
    this.#options.log.error('control.handler_failed', `the handler of ${name} failed`, fields)
    return {
      code: 'internal',
      message: `the handler of ${name} failed; see the log of the end that handled it`
    }
  }
}
