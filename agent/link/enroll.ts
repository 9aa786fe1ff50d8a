// How a machine becomes a client: a one-time code, exchanged for the right to use a token that the machine made.
import { createHash, randomBytes } from 'node:crypto'
import type { Static } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import { Fault, internal, serverUnreachable, wrongUsage } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { controlMessages, Hello } from '../../kernel/wire/control.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { type MessageChannel, wireMessages } from '../../kernel/wire/rpc.ts'
import { openStream } from '../../kernel/wire/stream.ts'
import { messages, Redeem, Redeemed, redeemCodes } from '../../plugins/enrollment/wire.ts'
import { type Bundle, type PendingBundle, readPending, writeBundle, writePending } from './bundle.ts'
import { connectPinned } from './connect.ts'

export interface Enrollment {
  readonly uri: string
  readonly bundleFile: string
  readonly hello: Omit<Static<typeof Hello.body>, 'token'>
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

export interface EnrollmentUri {
  readonly endpoint: string
  readonly pin: string
  readonly code: string
}

type Answer = Static<typeof Redeemed.body>

/** Asks again with the same token where the answer was lost: in this run, and in the next one. */
export async function enroll(given: Enrollment): Promise<Bundle> {
  const invitation = parseEnrollmentUri(given.uri)
  const before = readPending(given.bundleFile)
  if (before?.server_cert_sha256 === invitation.pin) {
    const pending = { ...before, server_endpoint: invitation.endpoint }
    const answer = await redeem(given, invitation, pending)
    const known = answer instanceof Refused ? await recognise(given, pending) : answer
    if (known) return complete(given, pending, known)
  }
  const pending = newPending(invitation)
  writePending(given.bundleFile, pending)
  const answer = await redeem(given, invitation, pending)
  if (answer instanceof Refused) throw faultOf(answer)
  return complete(given, pending, answer)
}

export function parseEnrollmentUri(uri: string): EnrollmentUri {
  const [, endpoint, query] = /^svc:\/\/([^/?#\s]+:\d{1,5})\/enroll\?(.+)$/.exec(uri.trim()) ?? []
  const params = new URLSearchParams(query)
  const [, pin] = /^sha256:([0-9a-f]{64})$/i.exec(params.get('pin') ?? '') ?? []
  const code = params.get('code')
  if (endpoint === undefined || pin === undefined || !code)
    throw new Fault(
      wrongUsage,
      'the URI has the form svc://HOST:PORT/enroll?pin=sha256:<64 hex>&code=<code>; copy the whole command'
    )
  return { endpoint, pin: pin.toLowerCase(), code }
}

const newPending = ({ endpoint, pin }: EnrollmentUri): PendingBundle => ({
  version: 1,
  server_endpoint: endpoint,
  server_cert_sha256: pin,
  token: randomBytes(32).toString('base64url')
})

function redeem(
  given: Enrollment,
  { code }: EnrollmentUri,
  pending: PendingBundle
): Promise<Answer | Refused> {
  const token_hash = createHash('sha256').update(pending.token).digest('hex')
  return asking(given, pending, line => line.request(Redeem, { code, token_hash }, { deadlineMs }))
}

/** The code is spent or late, but perhaps it was us: then the token is known by now. */
async function recognise(given: Enrollment, pending: PendingBundle): Promise<Answer | null> {
  const welcome = await asking(given, pending, line =>
    line.request(Hello, { ...given.hello, token: pending.token }, { deadlineMs })
  )
  if (welcome instanceof Refused) return null
  const said = welcome.parts['enrollment']
  const unnamed = { client_id: '', client_name: '', server_endpoint: pending.server_endpoint }
  return said ? openCodec(messages).decode(Redeemed, said) : unnamed
}

function complete({ bundleFile }: Enrollment, pending: PendingBundle, answer: Answer): Bundle {
  const bundle: Bundle = { ...pending, ...answer }
  writeBundle(bundleFile, bundle)
  return bundle
}

const attempts = 3
const deadlineMs = 15_000 // longer than the 10 s after which a server gives a stranger's stream up

/** A refusal is an answer. An answer that does not come is asked for again, on a new stream. */
async function asking<A>(
  given: Enrollment,
  pending: PendingBundle,
  ask: (line: MessageChannel) => Promise<A>
): Promise<A | Refused> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await askOnce(given, pending, ask)
    if (!(outcome instanceof Refused) || !outcome.code.startsWith('wire.')) return outcome
    if (attempt === attempts || given.signal.aborted)
      throw new Fault(serverUnreachable, `no answer: ${outcome.message}; run the same command again`)
  }
}

async function askOnce<A>(
  { clock, log, signal }: Enrollment,
  { server_endpoint: endpoint, server_cert_sha256: pin }: PendingBundle,
  ask: (line: MessageChannel) => Promise<A>
): Promise<A | Refused> {
  const socket = await connectPinned({ endpoint, pins: [pin] }, { clock, signal }).catch((cause: Error) => {
    throw new Fault(serverUnreachable, `${endpoint}: ${cause.message}`, { cause })
  })
  const codec = openCodec([...wireMessages, ...controlMessages, ...messages])
  const stream = openStream({ socket, codec, handlers: [], clock, log })
  try {
    return await ask(stream.channel)
  } catch (error) {
    if (error instanceof Refused) return error
    throw error
  } finally {
    stream.end('answered')
  }
}

function faultOf({ code, message }: Refused): Fault {
  const row = redeemCodes.find(row => row.code === code)
  return row ? new Fault(row, message) : new Fault(internal, `the server refuses: ${code}: ${message}`)
}
