// Measures a link from its near client, over a link connection that is made for it.
import type { Clock } from '../../../kernel/base/clock.ts'
import { NearCarrier } from './carrier.ts'
import type { AgentLink } from './link.ts'
import { requestOpen } from './request-open.ts'
import { TestStream } from './test-stream.ts'
import { encodeTest } from './transport/frame-bodies.ts'
import { flag } from './transport/frames.ts'

const connectMs = 3_000
const answerMs = 4_000

export interface Measured {
  readonly rtt_ms?: number
  readonly handshake_ms?: number
  readonly up_bps?: number
  readonly down_bps?: number
  readonly error?: string
}

interface Options {
  readonly bytes: number // in each direction
  readonly ms: number // for both
  readonly clock: Clock
}

/** Sends bytes to the far client, then receives as many. */
export async function measureLink(link: AgentLink, { bytes, ms, clock }: Options): Promise<Measured> {
  if (link.state !== 'up') return { error: link.reason ?? 'unreachable' }
  const late = new AbortController()
  const cancel = clock.after(connectMs, () => late.abort())
  const connection = await link.makeFresh(late.signal)
  void cancel()
  if (!connection) return { error: 'timeout' }
  const figures: Measured = { rtt_ms: link.rttMs, handshake_ms: connection.handshakeMs }
  const outcome = await requestOpen(connection, {
    payload: encodeTest({ bytes, ms: Math.floor(ms / 2) }),
    flags: flag.test,
    timeoutMs: answerMs,
    clock,
    signal: late.signal
  })
  if (outcome === 'lost' || 'refused' in outcome) {
    connection.close()
    return { ...figures, error: outcome === 'lost' ? 'unreachable' : 'refused' }
  }
  const { promise, resolve } = Promise.withResolvers<Measured>()
  const stream = new TestStream({ bytes, ms: Math.floor(ms / 2), clock, begins: 'now' })
  const beganAt = clock.monotonic()
  const carrier = new NearCarrier({
    connection,
    stream,
    resetStream: () => void stream.destroy(),
    counts: { up: 0, down: 0 },
    clock,
    rttMs: () => link.rttMs,
    done: isReusable => {
      connection.close()
      resolve(isReusable ? { ...figures, ...ratesOf(stream, beganAt) } : { ...figures, error: 'timeout' })
    }
  })
  carrier.start()
  return promise
}

/** The far client begins to send when it has received everything. */
function ratesOf({ sent, received, firstAt, lastAt }: TestStream, beganAt: number): Measured {
  if (firstAt === null) return {}
  return {
    up_bps: bitsPerSecond(sent, firstAt - beganAt),
    down_bps: bitsPerSecond(received, lastAt - firstAt)
  }
}

const bitsPerSecond = (bytes: number, ms: number): number => (8000 * bytes) / Math.max(1, ms)
