// A hostile agent with a valid token. It sends mutated messages generated from the wire schemas, floods of reports,
// statuses, health and responses, and endless inventories. It reconnects repeatedly.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import protobuf from 'protobufjs'
import { type TSchema, Type } from 'typebox'
import { parseEnrollmentUri } from '../../agent/stream/enroll.ts'
import { messages as enrollmentMessages, Redeem } from '../../agent/wire/enrollment.ts'
import { agentPlugins } from '../../config/agent-plugins.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { controlMessages, Hello, Inventory, protocolVersion } from '../../kernel/wire/control.ts'
import { wireMessages } from '../../kernel/wire/envelope.ts'
import type { BoundHandler, Codec, Message } from '../../kernel/wire/message.ts'
import { Stream } from '../../kernel/wire/stream.ts'
import { connectAgent, dial, scriptedResponse } from '../../kit/scripted-agent.ts'
import { RulePush, messages as ruleMessages } from '../../plugins/rules/wire.ts'
import { type SeededRandom, seededRandom } from '../bench/soak/seeded-random.ts'
import type { Attack, Target } from './target.ts'

const halves = await Promise.all(Object.values(agentPlugins).map(async load => (await load()).default))
const messages = [
  ...controlMessages,
  ...enrollmentMessages,
  ...halves.flatMap(({ messages = [] }) => messages)
]
const codec = openCodec([...wireMessages, ...messages])
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const burst = 500 // messages of one flood
const storm = 30 // sequential connections

interface KnownIds {
  readonly random: SeededRandom
  readonly ids: readonly string[] // of rules, users and clients, both own and others'
}

const pick = <T>(random: SeededRandom, values: readonly T[]): T => values[random.below(values.length)] as T

/** Returns a value that mostly matches the schema, often at its bounds, sometimes beyond them or of another type. */
function generateValue(schema: TSchema, known: KnownIds): unknown {
  const { random, ids } = known
  if (random.oneIn(40)) return pick(random, [-1, 2 ** 53, '', 'x'.repeat(3_000), true, [], {}, null])
  if (Type.IsLiteral(schema)) return schema.const
  if (Type.IsUnion(schema)) return generateValue(pick(random, schema.anyOf), known)
  if (Type.IsBoolean(schema)) return random.oneIn(2)
  if (Type.IsInteger(schema) || Type.IsNumber(schema)) {
    const { minimum = 0, maximum = 2 ** 53 } = schema as { minimum?: number; maximum?: number }
    const now = Date.now()
    return pick(random, [minimum, maximum, maximum + 1, 1, random.below(65_536), 2 ** 52, now, 9_999_999_999])
  }
  if (Type.IsString(schema)) {
    const { maxLength = 32, pattern } = schema as { maxLength?: number; pattern?: string }
    const minute = String(Math.floor(Date.now() / 60_000) * 60)
    const hex = random
      .below(2 ** 32)
      .toString(16)
      .padStart(32, '0')
    if (pattern !== undefined) return random.oneIn(10) ? 'not hex' : hex
    const keywords = [
      'rule',
      'minute',
      'hour',
      'port',
      'target',
      'rejected',
      'quota',
      'envelope',
      'bandwidth',
      '80'
    ]
    return pick(random, [
      ...ids,
      ...ids,
      ...keywords,
      minute,
      '9999999999',
      '\0',
      'a'.repeat(maxLength + random.below(2))
    ])
  }
  if (Type.IsArray(schema)) {
    const { maxItems = 8 } = schema as { maxItems?: number }
    const length = random.oneIn(20) ? maxItems + random.below(2) : random.below(Math.min(maxItems, 20) + 1)
    return Array.from({ length }, () => generateValue(schema.items, known))
  }
  if (Type.IsRecord(schema)) return { [pick(random, ids)]: 'x' }
  if (!Type.IsObject(schema)) return Buffer.alloc(random.below(300), 7)
  const entries = Object.entries(schema.properties).filter(() => !random.oneIn(30))
  return Object.fromEntries(entries.map(([key, value]) => [key, generateValue(value, known)]))
}

const roots = new Map<string, protobuf.Root>()
const typeOf = ({ name, proto }: Message): protobuf.Type => {
  const root = roots.get(name) ?? new protobuf.Root()
  if (roots.has(name)) return root.lookupType(name)
  const text = proto instanceof URL ? readFileSync(proto, 'utf8') : proto
  roots.set(name, root)
  return protobuf.parse(text, root, { keepCase: true }).root.lookupType(name)
}

/** Encodes a generated value. Sometimes truncates, changes or repeats the bytes. */
function generateBytes(message: Message, known: KnownIds): Uint8Array {
  const { random } = known
  const type = typeOf(message)
  const bytes = Buffer.from(encodeValue(type, generateValue(message.body, known)))
  if (random.oneIn(8)) return bytes.subarray(0, random.below(bytes.length + 1))
  if (random.oneIn(8) && bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256)
  return random.oneIn(8) ? Buffer.concat([bytes, bytes, Buffer.from([0xfa, 0x7f, 0])]) : bytes
}

function encodeValue(type: protobuf.Type, value: unknown): Uint8Array {
  try {
    return type.encode(type.fromObject(Object(value))).finish()
  } catch {
    return Buffer.from(JSON.stringify(value)) // protobuf cannot express the value
  }
}

/** Sends bytes unchanged as the body of a message. */
const unchecked: Codec = {
  ...codec,
  encode(message, body) {
    const bytes: unknown = body
    return bytes instanceof Uint8Array ? bytes : codec.encode(message, body)
  }
}

const hostile: readonly Message[] = messages.filter(({ name }) => name !== Hello.name)

/** Answers every request of the server with random data, or not at all. */
const handlersOf = (known: KnownIds): BoundHandler[] =>
  messages.map(({ name }) => ({
    name,
    async run() {
      const answer = name === Inventory.name ? (Inventory.response as Message) : pick(known.random, messages)
      return known.random.oneIn(5) ? null : { name: answer.name, body: generateBytes(answer, known) }
    }
  }))

async function open(target: Target, token: string, handlers: BoundHandler[]): Promise<Stream> {
  const { socket } = await dial({ port: target.controlPort, fingerprint: target.fingerprint })
  socket.on('error', () => {}) // a reset is expected
  const stream = new Stream({ socket, codec: unchecked, handlers, clock: systemClock, log: silent })
  const hello = {
    token,
    agent_version: '2.0.0',
    protocol_version: protocolVersion,
    instance_id: 'm',
    state_digest: ''
  }
  await stream.channel.request(Hello, hello)
  return stream
}

async function redeem(target: Target): Promise<string> {
  const token = newSecret()
  const { code } = parseEnrollmentUri(target.enrollmentUri)
  const { socket } = await dial({ port: target.controlPort, fingerprint: target.fingerprint })
  const stream = new Stream({ socket, codec, handlers: [], clock: systemClock, log: silent })
  await stream.channel.request(Redeem, { code, token_hash: hashOf(token) })
  stream.end('redeemed')
  return token
}

/** Creates a rule on the attacker's client and accepts it like an honest agent. */
async function ownRule(target: Target, token: string): Promise<string> {
  const releases: (() => unknown)[] = []
  const accept = scriptedResponse(RulePush, ({ rule_id, revision }) => ({ rule_id, revision }))
  const script = { port: target.controlPort, fingerprint: target.fingerprint, token, messages: ruleMessages }
  await connectAgent(
    { teardown: (release: () => unknown) => void releases.push(release) },
    { ...script, responses: [accept] }
  )
  const answer = await fetch(`${target.origin}/v1/rules`, {
    method: 'POST',
    headers: { authorization: `Bearer ${target.operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      client: 'mallory',
      listen_port: 20_000,
      targets: [{ host: '127.0.0.1', port: 9 }]
    })
  })
  for (const release of releases) await release()
  const { rule_id } = (await answer.json()) as { rule_id: string }
  return rule_id
}

/** Sends mutated messages, then one flood. Returns the number of messages. */
async function harass(stream: Stream, known: KnownIds): Promise<number> {
  let sent = 0
  const flooded = pick(known.random, hostile)
  const body = generateBytes(flooded, known)
  for (; sent < 2 * burst && !stream.ended.aborted; sent++) {
    await stream.drained()
    const message = sent < burst ? pick(known.random, hostile) : flooded
    stream.channel.send(message, sent < burst ? generateBytes(message, known) : body)
    if (sent % 50 === 0) await wait(1)
  }
  return sent
}

export const attack: Attack = async target => {
  const until = AbortSignal.timeout(target.secs * 1000)
  const random = seededRandom(target.seed)
  const token = await redeem(target)
  const { victim, tenant } = target
  const ids = [
    await ownRule(target, token),
    ...victim.ruleIds,
    ...victim.clientIds,
    victim.userId,
    tenant.userId
  ]
  const known: KnownIds = { random, ids }
  const did = { sent: 0, streams: 0, refusedStreams: 0 }
  while (!until.aborted) {
    const isStorm = random.oneIn(4)
    for (let i = 0; i < (isStorm ? storm : 1) && !until.aborted; i++)
      try {
        const stream = await open(target, token, handlersOf(known))
        did.streams += 1
        if (!isStorm) {
          did.sent += await harass(stream, known)
          const rest = AbortSignal.any([until, stream.ended, AbortSignal.timeout(random.below(5_000))])
          if (!rest.aborted) await once(rest, 'abort')
        }
        stream.end('attack')
      } catch {
        did.refusedStreams += 1 // closed, or not answered within 10 s
      }
  }
  return did
}
