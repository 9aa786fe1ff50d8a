// An agent of any version that does as a test says: a real TLS client, and nothing behind it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectRaw } from 'node:net'
import { connect } from 'node:tls'
import type { Test } from 'tap'
import type { Static, TSchema } from 'typebox'
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

/** What it holds, as Stock says it. */
export interface Stocked {
  readonly kind: string
  readonly id: string
  readonly revision: number
  readonly state?: 'applied' | 'waiting' | 'draining'
}

/** A question of the server that came in; `body` as its schema says. */
export interface Asked {
  readonly name: string
  readonly body: Readonly<Record<string, unknown>>
}

/** `take` answers well, `never` not at all; a promise: when it settles, and what comes after it waits, as at a real agent. */
export type Reaction =
  | 'take'
  | 'never'
  | { readonly refuse: string; readonly message?: string }
  | Promise<void>

/** One question that the script knows. `reply` makes the good answer; the agent's stock follows by itself. */
export interface Scripted {
  readonly question: Request<TSchema, TSchema>
  readonly reply: (body: never) => unknown
}

export interface Script {
  readonly port: number
  readonly fingerprint: string
  readonly token: string
  readonly host?: string
  readonly localAddress?: string // 127.0.0.2 and so on: an address of its own
  readonly version?: string
  readonly capabilities?: Readonly<Record<string, string>> | null // null: a Hello without the map
  readonly instanceId?: string
  readonly generation?: string // of the stock
  readonly stock?: readonly Stocked[]
  readonly digest?: string // in place of the stock's own
  readonly messages?: readonly Message[] // of the plugins that it speaks with
  /** Pushes and removals that it answers, see `scripted`. */
  readonly answers?: readonly Scripted[]
  readonly react?: (asked: Asked) => Reaction
  readonly clock?: Clock // the machine's, when absent: it beats in real time, whatever a fake clock does
}

export interface ScriptedAgent {
  readonly welcome: Static<typeof Welcome.body>
  readonly channel: MessageChannel
  /** Every question and message of the server, in order. */
  readonly heard: Asked[]
  /** Bytes of TLS payload and handshake that came from the server. */
  readonly bytesReceived: () => number
  /** Why the server ended the stream, when it said so. */
  readonly toldEnd: () => string | null
  readonly ended: AbortSignal
  /** Resolves with the n-th (from 1) message of this name. */
  until(name: string, n?: number): Promise<Asked>
  gone(row: { kind: string; id: string; revision: number }): void
  standing(row: { kind: string; id: string; revision: number; code?: string; message?: string }): void
  /** Resolves when the stream is over. */
  over(): Promise<void>
  close(): Promise<void>
}

export const scripted = <B extends TSchema, A extends TSchema>(
  question: Request<B, A>,
  reply: (body: Static<B>) => Static<A>
): Scripted => ({ question, reply }) as unknown as Scripted // the script calls it with bodies of its own question

/** Connects and says Hello; rejects with Refused when the server refuses. */
export async function connectAgent(t: Pick<Test, 'teardown'>, script: Script): Promise<ScriptedAgent> {
  const heard: Asked[] = []
  const watchers = new Set<() => void>()
  let toldEnd: string | null = null
  const codec = codecOf(script.messages ?? none)

  const hear = (name: string, body: unknown): Asked => {
    const asked: Asked = { name, body: body as Asked['body'] } // messages are objects
    heard.push(asked)
    for (const look of watchers) look()
    return asked
  }
  const handlers: BoundHandler[] = [
    ...bindHandlers(
      [
        on(Ended, async (_: null, body) => {
          hear(Ended.name, body)
          toldEnd = body.code
        }),
        respond(Inventory, async (_: null, body) => {
          hear(Inventory.name, body)
          return page(script.stock ?? [], body.after)
        })
      ],
      () => null
    ),
    ...(script.answers ?? []).map(entry => reacting(entry, codec, script, hear))
  ]

  const { socket, raw } = await dial(script)
  const stream = new Stream({ socket, codec, handlers, clock: script.clock ?? systemClock, log: silent })
  const close = async (): Promise<void> => {
    stream.end('stopped')
    socket.destroy()
    if (!socket.closed) await once(socket, 'close')
  }
  t.teardown(close)
  const { ended, channel } = stream
  const welcome = await channel.request(Hello, helloOf(script)).catch(async error => {
    await close()
    throw error
  })

  return {
    welcome,
    channel,
    heard,
    ended,
    close,
    bytesReceived: () => raw.bytesRead,
    toldEnd: () => toldEnd,
    gone: row => channel.send(ObjectRemoved, row),
    standing: row => channel.send(ObjectStatus, { code: '', message: '', ...row }),
    over: () =>
      new Promise(resolve => {
        if (ended.aborted) resolve()
        else ended.addEventListener('abort', () => resolve(), { once: true })
      }),
    until: (name, n = 1) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = heard.filter(asked => asked.name === name)[n - 1]
          if (!found && !ended.aborted) return
          watchers.delete(look)
          if (found) resolve(found)
          else reject(new Error(`the stream ended (${ended.reason}) before ${name} came`))
        }
        watchers.add(look)
        ended.addEventListener('abort', look, { once: true })
        look()
      })
  }
}

const none: readonly Message[] = []
const codecs = new WeakMap<readonly Message[], Codec>()

/** Reading the .proto files costs more than all the rest: once for a list. */
function codecOf(messages: readonly Message[]): Codec {
  const codec = codecs.get(messages) ?? openCodec([...wireMessages, ...controlMessages, ...messages])
  codecs.set(messages, codec)
  return codec
}

/** TLS as an agent does it: the pin is judged before a byte is sent. */
export async function dial({ port, fingerprint, host = '127.0.0.1', localAddress }: Dialled) {
  const raw = connectRaw({ port, host, ...(localAddress !== undefined && { localAddress }) })
  const socket = connect({
    socket: raw,
    ALPNProtocols: [alpn],
    minVersion: 'TLSv1.3',
    rejectUnauthorized: false
  })
  await once(socket, 'secureConnect')
  const got = createHash('sha256').update(socket.getPeerCertificate().raw).digest('hex')
  if (got === fingerprint) return { socket, raw }
  socket.destroy()
  throw new Error(`the server's leaf is ${got}, pinned is ${fingerprint}`)
}
type Dialled = Pick<Script, 'port' | 'fingerprint' | 'host' | 'localAddress'>

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
      (script.stock ?? []).filter(({ state = 'applied' }) => state === 'applied')
    )
})

const pageSize = 100

function page(stock: readonly Stocked[], after: string) {
  const lineOf = ({ kind, id }: Stocked): string => `${kind} ${id}`
  const left = stock
    .filter(row => lineOf(row) > after)
    .sort((a, b) => (lineOf(a) < lineOf(b) ? -1 : 1))
    .map(row => ({ state: 'applied' as const, ...row }))
  return { rows: left.slice(0, pageSize), more: left.length > pageSize }
}

type Hear = (name: string, body: unknown) => Asked

function reacting({ question, reply }: Scripted, codec: Codec, { react }: Script, hear: Hear): BoundHandler {
  return {
    name: question.name,
    async run(_, bytes): Promise<Response | null> {
      const asked = hear(question.name, codec.decode(question, bytes))
      const reaction = react?.(asked) ?? 'take'
      if (reaction === 'never') return null
      if (reaction instanceof Promise) await reaction
      else if (reaction !== 'take') throw new Refused(reaction.refuse, reaction.message ?? reaction.refuse)
      return {
        name: question.response.name,
        body: codec.encode(question.response, reply(asked.body as never))
      }
    }
  }
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
