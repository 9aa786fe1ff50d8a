// Enrollment: the agent creates a token and redeems a one-time code, so that the server accepts the token.
import { createHash, randomBytes } from 'node:crypto'
import type { Static, TSchema } from 'typebox'
import type { Clock } from '../../kernel/base/clock.ts'
import {
  Fault,
  internal,
  serverPinMismatch,
  serverUnreachable,
  wrongUsage
} from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import { connectFailure } from '../../kernel/platform/connect-failure.ts'
import { isQuoted } from '../../kernel/platform/secret-problem.ts'
import { openCodec } from '../../kernel/wire/codec.ts'
import { controlMessages, Hello } from '../../kernel/wire/control.ts'
import { wireMessages } from '../../kernel/wire/envelope.ts'
import { Refused, type Request } from '../../kernel/wire/message.ts'
import { Stream } from '../../kernel/wire/stream.ts'
import { enrollmentKeyPrefix, messages, Redeem, Redeemed, redeemCodes } from '../wire/enrollment.ts'
import {
  type Bundle,
  endpointsOf,
  type PendingBundle,
  pinsOf,
  readBundle,
  readPending,
  writeBundle,
  writePending
} from './bundle.ts'
import { connectPinned, logPinMismatch, PinMismatch } from './connect-pinned.ts'
import type { HelloBody } from './hello.ts'

export interface Enrollment {
  readonly uri: string
  readonly bundleFile: string
  readonly hello: HelloBody
  readonly hostName: string
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

interface EnrollmentUri {
  readonly endpoint: string // host:port
  readonly others: readonly string[] // further endpoints
  readonly pin: string
  readonly code: string
}

type Identity = Static<typeof Redeemed.body>

/**
 * Redeems the code or key and writes the bundle. If a response is lost, the request is retried with the same token: in this run,
 * and in the next one from the pending bundle. A host that is enrolled already redeems a key with its present token, so that
 * it stays the same client and uses up nothing. Throws Fault.
 */
export async function enroll(enrollment: Enrollment): Promise<Bundle> {
  const uri = parseEnrollmentUri(enrollment.uri)
  const earlier = readPending(enrollment.bundleFile)
  if (earlier?.server_cert_sha256 === uri.pin) {
    const pending = { ...earlier, ...endpointsIn(uri) }
    const response = await redeem(enrollment, uri, pending)
    const identity = response instanceof Refused ? await findIdentity(enrollment, pending) : response
    if (identity) return complete(enrollment, pending, identity)
  }
  const present = readBundle(enrollment.bundleFile)
  if (!earlier && present && isReusable(present, uri)) {
    const response = await redeem(enrollment, uri, { ...present, ...endpointsIn(uri) })
    if (!(response instanceof Refused)) return complete(enrollment, present, response)
  }
  const pending: PendingBundle = {
    version: 1,
    ...endpointsIn(uri),
    server_cert_sha256: uri.pin,
    token: randomBytes(32).toString('base64url')
  }
  writePending(enrollment.bundleFile, pending)
  const response = await redeem(enrollment, uri, pending)
  if (response instanceof Refused) throw faultOf(response, present)
  return complete(enrollment, pending, response)
}

/** True if the token of this bundle can redeem the key: it is of the same server, which has not revoked it. */
const isReusable = (bundle: Bundle, { code, pin }: EnrollmentUri): boolean =>
  code.startsWith(enrollmentKeyPrefix) && bundle.revoked_at === undefined && pinsOf(bundle).includes(pin)

/**
 * Parses svc://HOST:PORT/enroll?pin=sha256:HEX&code=CODE&also=HOST:PORT. HEX is the `fingerprintOf` the server; `also` is
 * repeated for each further endpoint. Throws Fault.
 */
export function parseEnrollmentUri(uri: string): EnrollmentUri {
  const [, endpoint, query] = /^svc:\/\/([^/?#\s]+:\d{1,5})\/enroll\?(.+)$/.exec(uri.trim()) ?? []
  const params = new URLSearchParams(query)
  const [, pin] = /^sha256:([0-9a-f]{64})$/i.exec(params.get('pin') ?? '') ?? []
  const code = params.get('code')
  const others = params.getAll('also')
  const areEndpoints =
    others.length < maxEndpoints && others.every(other => /^[^/?#\s]+:\d{1,5}$/.test(other))
  if (endpoint === undefined || pin === undefined || !code || !areEndpoints)
    throw new Fault(
      wrongUsage,
      'the URI must have the form svc://HOST:PORT/enroll?pin=sha256:<64 hex>&code=<code>; ' +
        (isQuoted(uri.trim()) ? 'remove the quotes around it' : 'copy the whole command')
    )
  return { endpoint, others, pin: pin.toLowerCase(), code }
}

const endpointsIn = ({
  endpoint,
  others
}: EnrollmentUri): Pick<PendingBundle, 'server_endpoint' | 'server_endpoints'> => ({
  server_endpoint: endpoint,
  ...(others.length > 0 && { server_endpoints: [endpoint, ...others] })
})

function redeem(enrollment: Enrollment, { code }: EnrollmentUri, pending: PendingBundle) {
  const token_hash = createHash('sha256').update(pending.token).digest('hex')
  const host_name = enrollment.hostName.slice(0, 255)
  return requestWithRetry(enrollment, pending, Redeem, { code, token_hash, host_name })
}

/** Asks whether the server accepts the token: an earlier run may have redeemed the code. */
async function findIdentity(enrollment: Enrollment, pending: PendingBundle): Promise<Identity | null> {
  const hello = { ...enrollment.hello, token: pending.token }
  const welcome = await requestWithRetry(enrollment, pending, Hello, hello)
  if (welcome instanceof Refused) return null
  const part = welcome.parts['enrollment']
  const unnamed = { client_id: '', client_name: '', server_endpoint: pending.server_endpoint }
  return part ? openCodec(messages).decode(Redeemed, part) : unnamed
}

function complete({ bundleFile }: Enrollment, pending: PendingBundle, identity: Identity): Bundle {
  const bundle: Bundle = { ...pending, ...identity }
  writeBundle(bundleFile, bundle)
  return bundle
}

const maxEndpoints = 32 // of a URI
const attempts = 3
const deadlineMs = 15_000 // longer than the 10 s after which a server drops an unauthenticated stream

/** Returns the response or the server's refusal. Retries on a new stream if there is neither. Throws Fault. */
async function requestWithRetry<B extends TSchema, A extends TSchema>(
  enrollment: Enrollment,
  pending: PendingBundle,
  request: Request<B, A>,
  body: Static<B>
): Promise<Static<A> | Refused> {
  for (let attempt = 1; ; attempt++) {
    const stream = await openStream(enrollment, pending)
    const outcome = await stream.channel
      .request(request, body, { deadlineMs })
      .catch(refusalOf)
      .finally(() => stream.end('answered'))
    if (!(outcome instanceof Refused) || !outcome.code.startsWith('wire.')) return outcome
    if (attempt === attempts || enrollment.signal.aborted)
      throw new Fault(serverUnreachable, `no answer: ${outcome.message}; run the same command again`)
  }
}

const reachable =
  'see `sluice settings show` on the server; the endpoint must lead to control_listen without a TLS proxy'

/** Connects to the first endpoint that has the pinned certificate. Throws the Fault of the last one. */
async function openStream({ clock, log, signal }: Enrollment, pending: PendingBundle): Promise<Stream> {
  const { server_cert_sha256: pin } = pending
  const endpoints = endpointsOf(pending)
  const codec = openCodec([...wireMessages, ...controlMessages, ...messages])
  for (const [i, endpoint] of endpoints.entries())
    try {
      const socket = await connectPinned({ endpoint, pins: [pin], clock, signal })
      return new Stream({ socket, codec, handlers: [], clock, log })
    } catch (cause) {
      if (cause instanceof PinMismatch) logPinMismatch(log, cause)
      if (i === endpoints.length - 1 || signal.aborted) throw unreachable(endpoint, cause)
    }
  throw new TypeError('a URI has an endpoint')
}

function unreachable(endpoint: string, cause: unknown): Fault {
  if (cause instanceof PinMismatch) {
    const remedy = 'create a new URI; if it has the same pin, another host answers instead of the server'
    return new Fault(serverPinMismatch, `${endpoint}: ${cause.message}; ${remedy}`, { cause })
  }
  return new Fault(serverUnreachable, `${endpoint}: ${connectFailure(cause).cause}; ${reachable}`, { cause })
}

function refusalOf(error: unknown): Refused {
  if (error instanceof Refused) return error
  throw error
}

function faultOf({ code, message }: Refused, present: Bundle | null): Fault {
  const row = redeemCodes.find(row => row.code === code)
  const name = present?.revoked_at === undefined ? present?.client_name : undefined
  const hint = name === undefined ? '' : `; this agent is already enrolled as ${name}: run sluice agent run`
  return row
    ? new Fault(row, `${message}${hint}`)
    : new Fault(internal, `the server refused with ${code}: ${message}`)
}
