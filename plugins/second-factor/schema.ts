import { Type } from 'typebox'
import { closed, UserId } from '../../kernel/http/schema.ts'

const Code = Type.String({ maxLength: 64, description: 'Of the authenticator app.', examples: ['123456'] })
const Recovery = Type.String({
  maxLength: 64,
  description: 'One of the recovery codes, which works once.',
  examples: ['ABCD-EFGH-IJKL-MNOP']
})

export const Created = closed({
  secret: Type.String({ description: 'Base32, for typing it into the app.', examples: ['EXAMPLEEXAMPLE'] }),
  uri: Type.String({
    description: 'For a QR code.',
    examples: ['otpauth://totp/sluice:ann%40sluice.example.com?secret=EXAMPLEEXAMPLE&issuer=sluice']
  })
})

export const ConfirmBody = closed({ code: Code })

export const RecoveryCodes = closed({
  recovery_codes: Type.Array(Type.String(), {
    description: 'Shown only in this response. Each works once.',
    examples: [['ABCD-EFGH-IJKL-MNOP']]
  })
})

export const UserParams = closed({ user_id: UserId })

const answers = { code: Type.Optional(Code), recovery_code: Type.Optional(Recovery) }

export const AnswerBody = closed(
  {
    challenge: Type.String({
      maxLength: 128,
      description: '`challenge` in the details of `second_factor_required`.',
      examples: ['EXAMPLE-challenge-of-43-characters-in-all']
    }),
    ...answers
  },
  {
    minProperties: 2,
    maxProperties: 2,
    examples: [{ challenge: 'EXAMPLE-challenge-of-43-characters-in-all', code: '123456' }]
  }
)

export const ReauthenticateBody = closed(
  {
    password: Type.Optional(
      Type.String({ description: 'The password of the user.', examples: ['correct horse'] })
    ),
    ...answers
  },
  { minProperties: 1, maxProperties: 1, examples: [{ code: '123456' }] }
)
