import { type Static, Type } from 'typebox'
import { ClientId, closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import { parseTime } from '../http/exports.ts'

export const ClientParams = Type.Object({ client_id: ClientId })

const unixSecs = /^\d{1,10}$/

/** Returns Unix seconds, or null for an invalid time. */
export function parseSecs(text: string): number | null {
  if (unixSecs.test(text)) return Number(text)
  const ms = parseTime(text)
  return ms === null ? null : Math.floor(ms / 1000)
}

const Time = (description: string) =>
  Type.Optional(
    Type.Refine(
      Type.String({ description: `${description} Unix seconds or RFC 3339.`, code: 'invalid_timestamp' }),
      text => parseSecs(text) !== null,
      () => 'must be Unix seconds, or a time such as 2026-01-31T12:00:00Z'
    )
  )

export const Query = closed({
  from: Time('First time; default: 24 h before to.'),
  to: Time('First time after the window; default: now.')
})
export type Query = Static<typeof Query>

const Bytes = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

export const Sample = closed(
  {
    at: timeOf('Start of the minute.'),
    cpu_percent: Type.Number({ description: 'Used CPU time of all cores, 0 to 100.', examples: [12.5] }),
    memory_used_bytes: Bytes('Memory that is not available to new work.', 3_221_225_472),
    memory_total_bytes: Bytes('Memory of the host.', 8_589_934_592),
    open_descriptors: orNull(Bytes('Open file descriptors of the agent.', 120), {
      description: 'null: the system does not show them.'
    }),
    rtt_ms: orNull(Type.Number({ description: 'Time of a question and its answer.', examples: [8.4] }), {
      description: 'Round-trip time of the control stream; null: not measured.'
    })
  },
  { $id: 'HostHealthSample' }
)
export type Sample = Static<typeof Sample>
