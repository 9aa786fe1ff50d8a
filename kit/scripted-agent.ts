// An agent that a test controls: a real TLS client with scripted responses, of any version.
import { once } from 'node:events'
import { connect as connectRaw } from 'node:net'
import { connect } from 'node:tls'
import type { Static, TSchema } from 'typebox'
import { fingerprintOf } from '../agent/stream/connect-pinned.ts'
import { type Clock, systemClock } from '../kernel/base/clock.ts'
import { openCodec } from '../kernel/wire/codec.ts'
import {
  alpn,
  controlMessages,
  digestOf,
  Ended,
  Hello,
  Inventory,
  ObjectRemoved,
  ObjectStatus,
  protocolVersion,
  type Welcome
} from '../kernel/wire/control.ts'
import { wireMessages } from '../kernel/wire/envelope.ts'
import {
  type BoundHandler,
  bindHandlers,
  type Codec,
  type Message,
  on,
  Refused,
  type Request,
  type Response,
  respond
} from '../kernel/wire/message.ts'
import type { MessageChannel } from '../kernel/wire/rpc.ts'
import { Stream } from '../kernel/wire/stream.ts'

/** An object that the agent reports in its inventory. */
export interface InventoryRow {
  readonly kind: string
  readonly id: string
  readonly revision: number
  readonly state?: 'applied' | 'waiting' | 'draining'
}

/** A decoded message or request of the server. */
export interface ReceivedMessage {
  readonly name: string
  readonly body: Readonly<Record<string, unknown>>
}

type Answer = 'accept' | 'never' | { readonly refuse: string; readonly message?: string }

/** 'accept' sends the response, 'never' sends none, a promise delays it and, as on a real agent, all later messages. */
export type Reaction = Answer | Promise<Answer> | Promise<void>

/** A request of the server, and the function that makes its response. */
export interface ScriptedResponse {
  readonly request: Request<TSchema, TSchema>
  readonly reply: (body: never) => unknown
}

interface Endpoint {
  readonly port: number
  readonly fingerprint: string
  readonly host?: string
  readonly localAddress?: string // for example 127.0.0.2
  readonly signal?: AbortSignal // ends the connection, even while it is being made
}

export interface Script extends Endpoint {
  readonly token: string
  readonly version?: string
  readonly capabilities?: Readonly<Record<string, string>> | null // null: a Hello without the map
  readonly instanceId?: string
  readonly generation?: string // of the inventory
  /** A function gets the generation of the server. Revisions are valid only within one generation. */
  readonly inventory?: readonly InventoryRow[] | ((generation: string) => readonly InventoryRow[])
  readonly digest?: string // overrides the digest of the inventory
  readonly messages?: readonly Message[] // of the plugins under test
  /** See `scriptedResponse`. */
  readonly responses?: readonly ScriptedResponse[]
  readonly react?: (request: ReceivedMessage) => Reaction
  readonly clock?: Clock // default: real time, also when the server has a fake clock
}

export interface ScriptedAgent {
  readonly welcome: Static<typeof Welcome.body>
  readonly channel: MessageChannel
  /** Every message and request of the server, in order. */
  readonly received: ReceivedMessage[]
  /** Bytes received from the server, TLS handshake included. */
  readonly bytesReceived: () => number
  /** The code of the server's `Ended` message. */
  readonly endCode: () => string | null
  readonly ended: AbortSignal
  /** Resolves with the n-th (from 1) message of this name. */
  until(name: string, n?: number): Promise<ReceivedMessage>
  sendRemoved(row: { kind: string; id: string; revision: number }): void
  sendStatus(row: { kind: string; id: string; revision: number; code?: string; message?: string }): void
  /** Resolves when the stream has ended. */
  closed(): Promise<void>
  close(): Promise<void>
}

export const scriptedResponse = <B extends TSchema, A extends TSchema>(
  request: Request<B, A>,
  reply: (body: Static<B>) => Static<A>
): ScriptedResponse => ({ request, reply }) as unknown as ScriptedResponse // called with bodies of this request only

/** Runs a release when the test ends. A tap test has this method. */
export interface Teardown {
  teardown(release: () => unknown): void
}

/** Connects and sends Hello. Rejects with Refused when the server refuses. */
export async function connectAgent(t: Teardown, script: Script): Promise<ScriptedAgent> {
  const { socket, raw } = await dial(script)
  const messages = new ReceivedMessages()
  let endCode: string | null = null
  const generation = Promise.withResolvers<string>()
  const codec = codecOf(script.messages ?? none)
  const handlers: BoundHandler[] = [
    ...(script.responses ?? []).map(response => handlerOf(response, codec, script, messages)),
    ...bindHandlers(
      [
        on(Ended, async (_: null, body) => {
          messages.add(Ended.name, body)
          endCode = body.code
        }),
        respond(Inventory, async (_: null, body) => {
          messages.add(Inventory.name, body)
          return page(inventoryOf(script, await generation.promise), body.after)
        })
      ],
      () => null
    )
  ]
  const stream = new Stream({ socket, codec, handlers, clock: script.clock ?? systemClock, log: silent })
  const { ended, channel } = stream
  const close = async (): Promise<void> => {
    stream.end('stopped')
    socket.destroy()
    if (!socket.closed) await once(socket, 'close')
  }
  t.teardown(close)
  const welcome = await channel.request(Hello, helloOf(script)).catch(async error => {
    await close()
    throw error
  })

  generation.resolve(welcome.generation)

  return {
    welcome,
    channel,
    received: messages.all,
    ended,
    close,
    bytesReceived: () => raw.bytesRead,
    endCode: () => endCode,
    sendRemoved: row => channel.send(ObjectRemoved, row),
    sendStatus: row => channel.send(ObjectStatus, { code: '', message: '', ...row }),
    closed: async () => void (ended.aborted || (await once(ended, 'abort'))),
    until: (name, n = 1) => messages.until(ended, name, n)
  }
}

class ReceivedMessages {
  readonly all: ReceivedMessage[] = []
  readonly #waiting = new Set<() => void>()

  add(name: string, body: unknown): ReceivedMessage {
    const message: ReceivedMessage = { name, body: body as ReceivedMessage['body'] } // messages are objects
    this.all.push(message)
    for (const check of this.#waiting) check()
    return message
  }

  until(ended: AbortSignal, name: string, n: number): Promise<ReceivedMessage> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const found = this.all.filter(message => message.name === name)[n - 1]
        if (!found && !ended.aborted) return
        this.#waiting.delete(check)
        if (found) resolve(found)
        else reject(new Error(`the stream ended (${ended.reason}) before ${name} came`))
      }
      this.#waiting.add(check)
      ended.addEventListener('abort', check, { once: true })
      check()
    })
  }
}

const none: readonly Message[] = []
const codecs = new WeakMap<readonly Message[], Codec>()

/** Cached by list, because reading the .proto files is slow. */
function codecOf(messages: readonly Message[]): Codec {
  const codec = codecs.get(messages) ?? openCodec([...wireMessages, ...controlMessages, ...messages])
  codecs.set(messages, codec)
  return codec
}

/** Opens TLS and checks the pin before sending anything, like agents do. */
export async function dial({ port, fingerprint, host = '127.0.0.1', localAddress, signal }: Endpoint) {
  const raw = connectRaw({
    port,
    host,
    ...(localAddress !== undefined && { localAddress }),
    ...(signal && { signal })
  })
  const socket = connect({
    socket: raw,
    ALPNProtocols: [alpn],
    minVersion: 'TLSv1.3',
    rejectUnauthorized: false
  })
  await once(socket, 'secureConnect')
  const got = fingerprintOf(socket)
  if (got === fingerprint) return { socket, raw }
  socket.destroy()
  throw new Error(`the server's certificate is ${got}, pinned is ${fingerprint}`)
}

const helloOf = (script: Script): Static<typeof Hello.body> => ({
  token: script.token,
  agent_version: script.version ?? '2.0.0',
  protocol_version: protocolVersion,
  ...(script.capabilities !== null && { capabilities: { versions: script.capabilities ?? {} } }),
  instance_id: script.instanceId ?? 'scripted',
  state_digest:
    script.digest ??
    digestOf(
      script.generation ?? '',
      inventoryOf(script, script.generation ?? '').filter(({ state = 'applied' }) => state === 'applied')
    )
})

const inventoryOf = ({ inventory = [] }: Script, generation: string): readonly InventoryRow[] =>
  typeof inventory === 'function' ? inventory(generation) : inventory

const pageSize = 100

function page(inventory: readonly InventoryRow[], after: string) {
  const lineOf = ({ kind, id }: InventoryRow): string => `${kind} ${id}`
  const left = inventory
    .filter(row => lineOf(row) > after)
    .sort((a, b) => (lineOf(a) < lineOf(b) ? -1 : 1))
    .map(row => ({ state: 'applied' as const, ...row }))
  return { rows: left.slice(0, pageSize), more: left.length > pageSize }
}

function handlerOf(
  { request, reply }: ScriptedResponse,
  codec: Codec,
  { react }: Script,
  messages: ReceivedMessages
): BoundHandler {
  return {
    name: request.name,
    async run(_, bytes): Promise<Response | null> {
      const message = messages.add(request.name, codec.decode(request, bytes))
      const reaction = react?.(message)
      const answer = (reaction instanceof Promise ? await reaction : reaction) ?? 'accept'
      if (answer === 'never') return null
      if (answer !== 'accept') throw new Refused(answer.refuse, answer.message ?? answer.refuse)
      const body = codec.encode(request.response, reply(message.body as never))
      return { name: request.response.name, body }
    }
  }
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
