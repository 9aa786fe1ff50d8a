// One end of a control stream, the same for server and agent. Knows messages, and nothing of sockets.
import { type Static, type TSchema, Type } from 'typebox'
import { attributionOf, withTimeout } from '../base/attribution.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { currentRequestId } from '../base/request-id.ts'
import type { Codec } from './codec.ts'
import {
  type BoundHandler,
  Bytes,
  defineMessage,
  type Message,
  Refused,
  type Request,
  type Response
} from './message.ts'

const proto = new URL('./wire.proto', import.meta.url)

export const Envelope = defineMessage({
  name: 'sluice.wire.Envelope',
  proto,
  body: Type.Object({
    name: Type.String(),
    body: Bytes,
    id: Type.Integer(),
    re: Type.Integer(),
    request: Type.String({ pattern: '^[A-Za-z0-9._-]{0,64}$' })
  })
})

const Refusal = defineMessage({
  name: 'sluice.wire.Refusal',
  proto,
  body: Type.Object({ code: Type.String(), message: Type.String() })
})

export const wireMessages: readonly Message[] = [Envelope, Refusal]

export interface MessageChannel {
  send<B extends TSchema>(message: Message<B>, body: Static<B>): void
  /**
   * Rejects with Refused: when the other end refuses or does not know the message, with 'wire.deadline' when
   * no answer came in time, with 'wire.closed' when the stream has ended.
   */
  request<B extends TSchema, A extends TSchema>(
    question: Request<B, A>,
    body: Static<B>,
    options?: { readonly deadlineMs?: number }
  ): Promise<Static<A>>
}

export interface Rpc extends MessageChannel {
  /** Throws Refused at what must end the stream: a frame that is none, or too many waiting to be handled. */
  receive(frame: Uint8Array): void
  /** What may be said from now on. */
  serve(handlers: readonly BoundHandler[]): void
  close(reason: string): void
}

interface Options {
  readonly codec: Codec
  readonly handlers: readonly BoundHandler[]
  readonly write: (frame: Uint8Array) => void
  readonly clock: Clock
  readonly log: Log
  readonly deadlineMs?: number // of a question
}

interface Said {
  readonly name: string
  readonly body: Uint8Array
  readonly id: number
  readonly request: string
}

type What = Pick<BoundHandler, 'name' | 'plugin'>

// What waits to be handled, each message with what it costs beside its bytes: some 4,000 small ones, which an honest
// end may well say in one breath (a thousand drains that end together).
const maxWaitingBytes = 1024 * 1024
const bytesOf = ({ body }: Said): number => body.length + 256

/** What is said is handled strictly one after another; answers overtake, they find their question by its number. */
export function openRpc({ codec, write, clock, log, ...options }: Options): Rpc {
  const asked = new Map<number, { resolve(answer: Response): void; reject(error: Refused): void }>()
  const waiting: Said[] = []
  let waitingBytes = 0
  let isHandling = false
  let byName = index(options.handlers)
  let closed: Refused | null = null
  let lastId = 0

  const put = ({ name, body }: Response, ids: { id?: number; re?: number } = {}): void => {
    if (closed) return
    write(
      codec.encode(Envelope, { name, body, id: 0, re: 0, request: currentRequestId.getStore() ?? '', ...ids })
    )
  }

  async function handleAll(): Promise<void> {
    if (isHandling) return
    isHandling = true
    for (let said = waiting.shift(); said; said = waiting.shift()) {
      waitingBytes -= bytesOf(said)
      await (said.request === '' ? handle(said) : currentRequestId.run(said.request, handle, said))
    }
    isHandling = false
  }

  async function handle({ name, body, id }: Said): Promise<void> {
    const handler = byName.get(name)
    try {
      if (!handler) throw new Refused('wire.unknown_message', `nobody here knows ${name.slice(0, 100)}`)
      const answer = await withTimeout(20, name.slice(0, 100), () => handler.run(codec, body))
      if (id !== 0 && answer) put(answer, { re: id })
      if (!closed) answer?.afterSend?.()
    } catch (error) {
      refuse(error, { name: name.slice(0, 100), id, plugin: handler?.plugin })
    }
  }

  /** What was told, not asked, gets no answer: two ends that do not know each other would never stop. */
  function refuse(error: unknown, { id, ...what }: What & { readonly id: number }): void {
    const { code, message } = refusalOf(error, what)
    if (id === 0) return void log.debug('control.message_refused', message, { message: what.name, code })
    const body = codec.encode(Refusal, { code, message: message.slice(0, 1000) })
    put({ name: Refusal.name, body }, { re: id })
  }

  function refusalOf(
    error: unknown,
    { name, plugin }: What
  ): { readonly code: string; readonly message: string } {
    if (error instanceof Refused) return error
    if (error instanceof Fault) return { code: error.errorCode.code, message: error.message }
    log.error('control.handler_failed', `the handler of ${name} failed`, {
      message: name,
      plugin: plugin,
      ...attributionOf(error),
      error: error instanceof Error ? (error.stack ?? error.message) : String(error)
    })
    return { code: 'internal', message: `the handler of ${name} failed; its end's log says why` }
  }

  function reply(id: number, deadlineMs: number): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    if (closed) return Promise.reject(closed)
    asked.set(id, { resolve, reject })
    const cancel = clock.after(deadlineMs, () =>
      reject(new Refused('wire.deadline', `no answer within ${deadlineMs / 1000} s`))
    )
    return promise.finally(() => {
      cancel()
      asked.delete(id)
    })
  }

  return {
    send: (message, body) => put({ name: message.name, body: codec.encode(message, body) }),

    async request({ response, ...question }, body, { deadlineMs = options.deadlineMs ?? 10_000 } = {}) {
      const id = ++lastId
      put({ name: question.name, body: codec.encode(question, body) }, { id })
      const { name, body: bytes } = await reply(id, deadlineMs)
      if (name === response.name) return codec.decode(response, bytes)
      const { code, message } = codec.decode(Refusal, bytes)
      throw new Refused(code, message)
    },

    receive(frame) {
      const { re, ...said } = codec.decode(Envelope, frame)
      if (re !== 0) return asked.get(re)?.resolve(said)
      waitingBytes += bytesOf(said)
      if (waitingBytes > maxWaitingBytes)
        throw new Refused('wire.flooded', 'more is waiting to be handled than this end holds')
      waiting.push(said)
      void handleAll()
    },

    serve(handlers) {
      byName = index(handlers)
    },

    close(reason) {
      closed ??= new Refused('wire.closed', `the stream has ended: ${reason}`)
      waiting.length = 0
      for (const { reject } of asked.values()) reject(closed)
    }
  }
}

const index = (handlers: readonly BoundHandler[]): ReadonlyMap<string, BoundHandler> =>
  new Map(handlers.map(handler => [handler.name, handler]))
