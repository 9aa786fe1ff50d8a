import { type Static, type TSchema, Type } from 'typebox'
import { runAs } from '../base/attribution.ts'

/** A message of a plugin. Its .proto defines the bytes, `body` the type and the accepted values. */
export interface Message<B extends TSchema = TSchema> {
  readonly name: string // full name in the .proto: 'sluice.sni.Pattern'
  readonly proto: URL | string // the .proto file, read when the codec opens, or its text
  readonly body: B
}

/** A message that the other end answers with `response` or refuses. */
export interface Request<B extends TSchema = TSchema, A extends TSchema = TSchema> extends Message<B> {
  readonly response: Message<A>
}

export const defineMessage = <B extends TSchema>(message: Message<B>) => message
export const defineRequest = <B extends TSchema, A extends TSchema>(request: Request<B, A>) => request

const maxLength = 256 * 1024 // like a frame
/** `bytes` of a .proto. Every string, number, list and map on the wire has a bound. */
export const Bytes = Type.Refine(
  Type.Unsafe<Uint8Array>({ maxLength }),
  value => value instanceof Uint8Array && value.length <= maxLength
)
export const Entries = <S extends TSchema>(value: S, maxProperties: number) =>
  Type.Record(Type.String(), value, { maxProperties, propertyNames: { maxLength: 64 } })
/** A number below 2^53, so that additions stay exact. */
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export interface Codec {
  has(name: string): boolean
  /** Throws TypeError if the body does not match its schema. */
  encode<B extends TSchema>(message: Message<B>, body: Static<B>): Uint8Array
  /** Throws Refused 'wire.malformed'. */
  decode<B extends TSchema>(message: Message<B>, bytes: Uint8Array): Static<B>
}

/** A feature that an agent must have, from version `since` on, before the server uses it there. */
export interface Capability {
  readonly id: string
  readonly since: string
}

/** Hides the type of its message, so that a list of handlers needs no cast. */
export interface Handler<Ctx> {
  readonly name: string
  readonly isGrouped?: true // waiting messages with the same name are handled together
  readonly isConcurrent?: true // later messages do not wait for it; the handler bounds its work
  run(ctx: Ctx, codec: Codec, bytes: Uint8Array): Promise<Response | null>
}

export interface Response {
  readonly name: string
  readonly body: Uint8Array
  readonly handled_us?: number // of a received one, see wire.proto
  /** Called after the response was written, for messages that must not overtake it. */
  readonly afterSend?: () => void
}

export interface BoundHandler extends Omit<Handler<never>, 'run'> {
  readonly plugin?: string | undefined // for the log
  run(codec: Codec, bytes: Uint8Array): Promise<Response | null>
}

export const bindHandlers = <Ctx>(
  handlers: readonly Handler<Ctx>[],
  context: () => Ctx,
  plugin?: string
): BoundHandler[] =>
  handlers.map(({ run, ...handler }) => ({
    ...handler,
    plugin,
    run: (codec, bytes) => runAs(plugin, () => run(context(), codec, bytes))
  }))

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
  request: Request<B, A>,
  run: (ctx: Ctx, body: Static<B>) => Promise<Static<A>>
): Handler<Ctx> {
  return {
    name: request.name,
    async run(ctx, codec, bytes) {
      const body = await run(ctx, codec.decode(request, bytes))
      return { name: request.response.name, body: codec.encode(request.response, body) }
    }
  }
}

/** A handler throws it to refuse a message; the requesting end then throws it, too. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
