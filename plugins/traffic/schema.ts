import { type Static, Type } from 'typebox'
import { ClientId, closed, UserId } from '../../kernel/http/schema.ts'
import { invalidBucket } from './window.ts'

const Count = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

const span = {
  from: Count('First second, Unix time.', 1_767_225_600),
  to: Count('First second after the window, Unix time.', 1_767_229_200),
  bucket: Type.Optional(
    Type.Union([Type.Literal('1m'), Type.Literal('1h')], {
      code: invalidBucket.code,
      description: 'Default: 1m for at most 24 h that begin within the last 7 days, else 1h.'
    })
  )
}

export const UserQuery = closed({
  ...span,
  client_id: Type.Optional(Type.String({ ...ClientId, description: 'Only on this client.' }))
})
export const ClientQuery = closed({
  ...span,
  user_id: Type.Optional(Type.String({ ...UserId, description: 'Only of this user.' }))
})
export const GlobalQuery = closed(span)

export const Traffic = closed(
  {
    bucket: Type.Union([Type.Literal('1m'), Type.Literal('1h')], {
      description: 'Length of a sample: a minute or an hour.'
    }),
    samples: Type.Array(
      closed({
        ts: Type.Integer({
          description: 'Start of the minute or hour of delivery, Unix seconds.',
          examples: [1_767_225_600]
        }),
        bytes_in: Count('Delivered to targets.', 1_200),
        bytes_out: Count('Delivered to callers.', 56_000)
      }),
      { description: 'Minutes or hours without traffic are omitted.' }
    ),
    total_bytes_in: Count('Sum over all samples.', 1_200),
    total_bytes_out: Count('Sum over all samples.', 56_000)
  },
  { $id: 'Traffic' }
)
export type Traffic = Static<typeof Traffic>
