import { type Static, Type } from 'typebox'
import { closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'
import { Label, Scope } from '../credentials/exports.ts'

const Scopes = orNull(Type.Array(Scope, { maxItems: 256 }), {
  description: 'What the token may do; null or absent: everything that the user may do.',
  examples: [['*:read']]
})

export const StartBody = closed({
  label: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'Names the device for the user, and then the token; at most 255 bytes.',
    examples: ['cli@laptop']
  }),
  scopes: Type.Optional(Scopes)
})
export type StartBody = Static<typeof StartBody>

export const Started = closed(
  {
    device_code: Type.String({
      description: 'Secret of the device, for polling.',
      examples: ['EXAMPLE-of-a-device-code']
    }),
    user_code: Type.String({ description: 'Code that the user enters.', examples: ['BCDF-GHJK'] }),
    verification_uri: Type.String({
      description: 'Page on which the user enters the code.',
      examples: ['https://sluice.example.com/device']
    }),
    verification_uri_complete: Type.String({
      description: 'The same page, with the code filled in; the user must still approve.',
      examples: ['https://sluice.example.com/device?code=BCDF-GHJK']
    }),
    expires_in: Type.Integer({ description: 'Seconds until the codes expire.', examples: [600] }),
    interval: Type.Integer({ description: 'Seconds between two polls.', examples: [5] })
  },
  { $id: 'DeviceStart' }
)
export type Started = Static<typeof Started>

export const TokenBody = closed({
  device_code: Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'The secret from the start.',
    examples: ['EXAMPLE-of-a-device-code']
  })
})

export const DeviceToken = closed(
  {
    credential_id: Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NC'] }),
    user_id: UserId,
    token: Type.String({
      description: 'The bearer token; shown only in this response.',
      examples: ['svct_EXAMPLE-of-a-token-do-not-use']
    }),
    label: Label,
    created_at: timeOf('When the user approved.'),
    expires_at: timeOf('When the token expires.'),
    scopes: Scopes
  },
  { $id: 'DeviceToken' }
)
export type DeviceToken = Static<typeof DeviceToken>

export const CodeBody = closed({
  user_code: Type.String({
    minLength: 1,
    maxLength: 32,
    description: 'The code that the device shows; case, spaces and hyphens do not matter.',
    examples: ['BCDF-GHJK']
  })
})

export const Reviewed = closed(
  {
    label: Label,
    remote_addr: Type.String({ description: 'Address of the device.', examples: ['198.51.100.7'] }),
    scopes: Scopes,
    expires_at: timeOf('When the code expires.')
  },
  { $id: 'DeviceReview' }
)
export type Reviewed = Static<typeof Reviewed>
