import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { recordFieldSlots, recordFields } from '../http/exports.ts'

type Values = Readonly<Record<string, unknown>>

export const invalidEnrollmentTtl = defineCode('invalid_enrollment_ttl', 400, 3)

const Ttl = Type.Integer({
  minimum: 1,
  maximum: 86_400,
  code: invalidEnrollmentTtl.code,
  description: 'Lifetime of the code; default enrollment_ttl_secs.',
  examples: [600]
})

export const keys = Type.Object({
  enrollment_ttl_secs: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 600,
    hot: true,
    description: 'Lifetime of an enrollment code, unless the request gives one.'
  })
})

const Enroll = Type.Object({
  name: Type.String({ description: 'Name of the new client.', examples: ['paris'] }),
  address: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: 'Public host of the forwarded ports, without a port.',
      examples: ['paris.example.net']
    })
  ),
  ttl_secs: Type.Optional(Ttl)
})

export const fieldsIn = (filled: SlotReader) => filled(recordFieldSlots.enrollment)

export const enrollBody = (filled: SlotReader) =>
  Type.Unsafe<Static<typeof Enroll> & Values>(
    closed({ ...Enroll.properties, ...recordFields.given(fieldsIn(filled)) })
  )

export const ReEnrollBody = closed({ ttl_secs: Type.Optional(Ttl) })

const uri =
  'svc://sluice.example.com:7443/enroll?pin=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef' +
  '&code=EXAMPLE-of-a-one-time-code-of-43-characters'

export const EnrollmentId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NE'] })
const ClientName = Type.String({ description: 'Name of the client.', examples: ['paris'] })

export const Invitation = closed(
  {
    enrollment_id: EnrollmentId,
    client_name: ClientName,
    expires_at: timeOf('When the code expires.'),
    command: Type.String({
      description: 'Run it on the edge host. It contains the code and is shown only in this response.',
      examples: [`sluice agent enroll '${uri}'`]
    }),
    uri: Type.String({ description: 'The URI in the command.', examples: [uri] })
  },
  { $id: 'Invitation' }
)
export type Invitation = Static<typeof Invitation>

const Row = Type.Object({
  enrollment_id: EnrollmentId,
  client_id: Type.Union([Type.String(), Type.Null()], {
    description: 'Null: the code creates a new client.',
    examples: [null]
  }),
  client_name: ClientName,
  address: orNull(
    Type.String({ description: 'Public host of the forwarded ports.', examples: ['paris.example.net'] })
  ),
  created_by: Type.String({ ...UserId, description: 'user_id of the creator of the code.' }),
  created_at: timeOf('When the code was made.'),
  expires_at: timeOf('When the code expires.')
})
export type EnrollmentRow = Static<typeof Row> & Values

export const enrollmentRow = (filled: SlotReader) =>
  Type.Unsafe<EnrollmentRow>(
    closed({ ...Row.properties, ...recordFields.shown(fieldsIn(filled)) }, { $id: 'Enrollment' })
  )
