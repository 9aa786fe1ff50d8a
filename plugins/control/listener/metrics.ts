// Metrics of the control stream: frames by message, and failed authentications.
import type { Static } from 'typebox'
import { Fault } from '../../../kernel/base/errors.ts'
import { increment, samplesOf } from '../../../kernel/base/metric.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import { Envelope } from '../../../kernel/wire/envelope.ts'
import { type BoundHandler, type Codec, Refused } from '../../../kernel/wire/message.ts'

export interface StreamCounters {
  /** Returns the codec, counting each message that it encodes or decodes on a stream. */
  countingCodec(codec: Codec): Codec
  /** Returns the handler, counting each refusal without a `wire.` code as a failed authentication. */
  countingFailures(handler: BoundHandler): BoundHandler
  readonly metrics: Metrics
}

export function openCounters(): StreamCounters {
  const frames = new Map<string, number>()
  const failures = new Map<string, number>()

  return {
    countingCodec(codec) {
      // An unauthenticated agent must not create labels.
      const count = (direction: 'in' | 'out', body: unknown): void => {
        const { name } = body as Static<typeof Envelope.body>
        increment(frames, `${direction} ${codec.has(name) ? name : 'unknown'}`)
      }
      return {
        ...codec,
        encode(message, body) {
          if (message.name === Envelope.name) count('out', body)
          return codec.encode(message, body)
        },
        decode(message, bytes) {
          const body = codec.decode(message, bytes)
          if (message.name === Envelope.name) count('in', body)
          return body
        }
      }
    },
    countingFailures: handler => ({
      ...handler,
      run: (codec, body) =>
        handler.run(codec, body).catch((error: unknown) => {
          if (error instanceof Fault) increment(failures, error.errorCode.code)
          else if (error instanceof Refused && !error.code.startsWith('wire.'))
            increment(failures, error.code)
          throw error
        })
    }),
    metrics: async () => [
      {
        name: 'svc_control_frames_total',
        type: 'counter',
        help: 'Messages on control streams.',
        labels: ['direction', 'type'],
        samples: samplesOf(frames)
      },
      {
        name: 'svc_auth_failures_total',
        type: 'counter',
        help: 'Failed authentications of callers and agents, by code.',
        labels: ['reason'],
        samples: samplesOf(failures)
      }
    ]
  }
}
