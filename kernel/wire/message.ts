import { type Static, type TSchema, Type } from 'typebox'
import type { Codec } from './codec.ts'

/** A message of a plugin's .proto. The .proto is the wire; `body` is its type here, and what we accept. */
export interface Message<B extends TSchema = TSchema> {
  readonly name: string // full name in the .proto: 'sluice.sni.Pattern'
  readonly proto: URL // not read before the codec opens
  readonly body: B
}

/** A message that is asked, not told: the other end answers with one of the other type, or refuses. */
export interface Request<B extends TSchema = TSchema, A extends TSchema = TSchema> extends Message<B> {
  readonly response: Message<A>
}

export function defineMessage<B extends TSchema>(message: Message<B>): Message<B> {
  return message
}

export function defineRequest<B extends TSchema, A extends TSchema>(question: Request<B, A>): Request<B, A> {
  return question
}

/** `bytes` of a .proto. */
export const Bytes = Type.Refine(Type.Unsafe<Uint8Array>({}), value => value instanceof Uint8Array)

/** What an agent must be able to do before the server uses a feature on it. */
export interface Capability {
  readonly id: string
  readonly since: string
}

/** Closes over the types of its message, so that a list of handlers needs no cast. */
export interface Handler<Ctx> {
  readonly name: string
  run(ctx: Ctx, codec: Codec, bytes: Uint8Array): Promise<Response | null>
}
export interface Response {
  readonly name: string
  readonly body: Uint8Array
  /** When it has been written: for what must not be said before it. */
  readonly afterSend?: () => void
}

/** With its context filled in, one a message: what an exchange calls by name. */
export interface BoundHandler {
  readonly name: string
  readonly plugin?: string | undefined // the plugin whose it is, for the log
  run(codec: Codec, bytes: Uint8Array): Promise<Response | null>
}

export const bindHandlers = <Ctx>(
  handlers: readonly Handler<Ctx>[],
  context: () => Ctx,
  plugin?: string
): BoundHandler[] =>
  handlers.map(({ name, run }) => ({ name, plugin, run: (codec, bytes) => run(context(), codec, bytes) }))

export function on<Ctx, B extends TSchema>(
  message: Message<B>,
  run: (ctx: Ctx, body: Static<B>) => Promise<void>
): Handler<Ctx> {
  return {
    name: message.name,
    async run(ctx, codec, bytes) {
      await run(ctx, codec.decode(message, bytes))
      return null
    }
  }
}

export function respond<Ctx, B extends TSchema, A extends TSchema>(
  question: Request<B, A>,
  run: (ctx: Ctx, body: Static<B>) => Promise<Static<A>>
): Handler<Ctx> {
  return {
    name: question.name,
    async run(ctx, codec, bytes) {
      const body = await run(ctx, codec.decode(question, bytes))
      return { name: question.response.name, body: codec.encode(question.response, body) }
    }
  }
}

/** Thrown by a handler to refuse, and thrown again at the asker's end of the stream. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
