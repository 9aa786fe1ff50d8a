import { type Static, type TSchema, Type } from 'typebox'
import { runAs } from '../base/attribution.ts'

/** A message of a plugin. Its .proto defines its bytes; `body` is its type here, and what is accepted. */
export interface Message<B extends TSchema = TSchema> {
  readonly name: string // full name in the .proto: 'sluice.sni.Pattern'
  readonly proto: URL | string // the .proto file, read when the codec opens, or its text
  readonly body: B
}

/** A message that the other end answers with a `response`, or refuses. */
export interface Request<B extends TSchema = TSchema, A extends TSchema = TSchema> extends Message<B> {
  readonly response: Message<A>
}

export const defineMessage = <B extends TSchema>(message: Message<B>) => message
export const defineRequest = <B extends TSchema, A extends TSchema>(request: Request<B, A>) => request

const maxLength = 256 * 1024 // as a frame
/** `bytes` of a .proto. As these, every string, number, list and map on the wire has a bound. */
export const Bytes = Type.Refine(
  Type.Unsafe<Uint8Array>({ maxLength }),
  value => value instanceof Uint8Array && value.length <= maxLength
)
/** A map of a .proto. */
export const Entries = <S extends TSchema>(value: S, maxProperties: number) =>
  Type.Record(Type.String(), value, { maxProperties, propertyNames: { maxLength: 64 } })
/** A number as far as additions are exact. */
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export interface Codec {
  has(name: string): boolean
  /** Throws TypeError for a body that does not fit its schema. */
  encode<B extends TSchema>(message: Message<B>, body: Static<B>): Uint8Array
  /** Throws Refused 'wire.malformed'. */
  decode<B extends TSchema>(message: Message<B>, bytes: Uint8Array): Static<B>
}

/** A feature, from version `since` on, that an agent must have before the server uses it there. */
export interface Capability {
  readonly id: string
  readonly since: string
}

/** Hides the types of its message, so that a list of handlers needs no cast. */
export interface Handler<Ctx> {
  readonly name: string
  readonly isGrouped?: true // messages of one name that wait behind one another are handled together
  run(ctx: Ctx, codec: Codec, bytes: Uint8Array): Promise<Response | null>
}

export interface Response {
  readonly name: string
  readonly body: Uint8Array
  /** Called when the response has been written: for messages that must not overtake it. */
  readonly afterSend?: () => void
}

/** A handler with its context bound. */
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
    ...{ ...handler, plugin },
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

/** Thrown by a handler to refuse a message, and thrown again where the request was made. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
