import { type Static, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import { invalidBucket } from './window.ts'

const Count = () => Type.Integer({ minimum: 0 })
const Secs = (description: string) => Type.Integer({ minimum: 0, description })

const span = {
  from: Secs('First second, Unix time.'),
  to: Secs('The second after the last, Unix time.'),
  bucket: Type.Optional(
    Type.Union([Type.Literal('1m'), Type.Literal('1h')], {
      code: invalidBucket.code,
      description: 'Default: 1m for at most 24 h that begin within the last 7 days, else 1h.'
    })
  )
}

export const UserQuery = closed({ ...span, client_id: Type.Optional(Type.String()) })
export const ClientQuery = closed({ ...span, user_id: Type.Optional(Type.String()) })
export const GlobalQuery = closed(span)

export const Traffic = closed({
  bucket: Type.Union([Type.Literal('1m'), Type.Literal('1h')]),
  samples: Type.Array(
    closed({
      ts: Type.Integer({ description: 'Start of the minute or hour of delivery, Unix seconds.' }),
      bytes_in: Count(),
      bytes_out: Count()
    })
  ),
  total_bytes_in: Count(),
  total_bytes_out: Count()
})
export type Traffic = Static<typeof Traffic>
