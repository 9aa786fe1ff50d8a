import { type Static, Type } from 'typebox'
import { defineCode } from '../../kernel/base/errors.ts'
import { closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { recordFields, TimeText } from '../http/exports.ts'
import { fieldsIn } from './schema.ts'

type Values = Readonly<Record<string, unknown>>

export const enrollmentKeyNotFound = defineCode('enrollment_key_not_found', 404, 8)

export const KeyId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NF'] })

const Label = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'What the key is for: 1 to 255 bytes, shown in lists and in the audit log.',
  examples: ['web servers']
})
const Uses = Type.Integer({
  minimum: 1,
  maximum: 100_000,
  description: 'How many hosts can enroll with it; null: no limit.',
  examples: [50]
})
const Address = orNull(Type.Literal('auto'), {
  description: 'auto: the public address of a client is the address from which its agent has enrolled.',
  examples: ['auto']
})
const Approve = Type.Boolean({
  description: 'A client is pending, without rules, until it is approved.',
  examples: [false]
})
const EphemeralSecs = Type.Integer({
  minimum: 300,
  maximum: 2_592_000,
  description: 'A client without a connection for this time is deleted with its rules; null: it stays.',
  examples: [3600]
})

const NewKey = Type.Object({
  label: Label,
  uses: Type.Optional(orNull(Uses)),
  expires_at: Type.Optional(orNull(TimeText('When the key expires; null: never.'))),
  address: Type.Optional(Address),
  approve: Type.Optional(Approve),
  ephemeral_secs: Type.Optional(orNull(EphemeralSecs))
})
export type NewKey = Static<typeof NewKey>

export const newKeyBody = (filled: SlotReader) =>
  Type.Unsafe<NewKey & Values>(
    closed(
      { ...NewKey.properties, ...recordFields.given(fieldsIn(filled)) },
      { examples: [{ label: 'web' }] }
    )
  )

const Row = Type.Object({
  key_id: KeyId,
  label: Label,
  state: Type.Union(
    [Type.Literal('active'), Type.Literal('spent'), Type.Literal('expired'), Type.Literal('stale')],
    {
      description:
        'spent: all uses are used up; stale: the server has another certificate since. Hosts can enroll only with an active key.'
    }
  ),
  uses: orNull(Uses),
  used: Type.Integer({ description: 'Hosts that have enrolled with it.', examples: [3] }),
  clients: Type.Integer({ description: 'Clients of these hosts that still exist.', examples: [3] }),
  pending_clients: Type.Integer({ description: 'Those of them that wait for an approval.', examples: [0] }),
  expires_at: orNull(timeOf('When the key expires.')),
  address: Address,
  approve: Approve,
  ephemeral_secs: orNull(EphemeralSecs),
  created_by: Type.String({ ...UserId, description: 'user_id of the creator of the key.' }),
  created_at: timeOf('When the key was made.')
})
export type KeyRow = Static<typeof Row> & Values

export const keyRow = (filled: SlotReader) =>
  Type.Unsafe<KeyRow>(
    closed({ ...Row.properties, ...recordFields.shown(fieldsIn(filled)) }, { $id: 'EnrollmentKey' })
  )

const Issued = Type.Object({
  ...Row.properties,
  key: Type.String({
    description: 'The key. It is shown only in this response.',
    examples: ['svck_EXAMPLE-of-an-enrollment-key-of-48-characters']
  }),
  uri: Type.String({ description: 'Address and pinned certificate of the server, and the key.' }),
  command: Type.String({ description: 'Run it on each edge host.' })
})
export type IssuedKey = Static<typeof Issued> & Values

export const issuedKey = (filled: SlotReader) =>
  Type.Unsafe<IssuedKey>(
    closed({ ...Issued.properties, ...recordFields.shown(fieldsIn(filled)) }, { $id: 'NewEnrollmentKey' })
  )
