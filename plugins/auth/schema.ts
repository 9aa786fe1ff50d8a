import { type Static, Type } from 'typebox'
import { closed, orNull, timeOf, UserId } from '../../kernel/http/schema.ts'

const Text = (description: string, example: string) => Type.String({ description, examples: [example] })
const Password = (description = '12 to 1024 bytes.') => Text(description, 'correct horse battery staple')
const DisplayName = Text('1 to 64 characters.', 'Ann Miller')

export const Status = closed({
  onboarding_required: Type.Boolean({
    description: 'There is no superadmin yet. The setup token in the log is needed to create one.',
    examples: [false]
  }),
  signed_in: orNull(Type.Boolean(), {
    description: 'Whether the request has a valid session; null: another plugin may know the caller.',
    examples: [true]
  })
})

// The services check lengths and formats of these fields, to return specific error codes.
export const OnboardBody = closed({
  user_id: UserId,
  display_name: DisplayName,
  password: Password(),
  password_confirm: Password('The same password again.'),
  setup_token: Type.Optional(
    Text('From the log of the server.', 'EXAMPLE-setup-token-of-43-characters-in-all')
  )
})
export type OnboardBody = Static<typeof OnboardBody>

export const Onboarded = closed({
  user_id: UserId,
  display_name: DisplayName,
  role: Text('Always superadmin.', 'superadmin')
})

export const LoginBody = closed({ user_id: UserId, password: Password('The password of the user.') })
export type LoginBody = Static<typeof LoginBody>

export const StepBody = closed({
  ticket: Text('`ticket` in the details of `step_required`.', 'EXAMPLE-ticket-of-43-characters-as-received'),
  method: Type.Optional(
    Text('How the user answers: one of `methods` in the details. Default: the first.', 'totp')
  ),
  answer: Type.String({ maxLength: 4096, description: 'The answer of the user.', examples: ['123456'] })
})
export type StepBody = Static<typeof StepBody>

export const LoggedIn = closed({
  password_change_required: Type.Boolean({
    description: 'The password is temporary: other requests are refused until it is changed.',
    examples: [false]
  }),
  second_factor_enrollment_required: Type.Boolean({
    description: 'The user needs a second factor: other requests are refused until it is set up.',
    examples: [false]
  })
})
export type LoggedIn = Static<typeof LoggedIn>

export const LoggedOut = closed(
  {
    redirect: Type.String({
      description:
        'Address of the provider of the session, to which the browser goes to end its session there.',
      examples: ['https://login.example.com/logout?client_id=sluice']
    })
  },
  { $id: 'LoggedOut' }
)

export const ChangeBody = closed({
  current_password: Password('The current password.'),
  new_password: Text('12 to 1024 bytes.', 'staple battery horse correct'),
  new_password_confirm: Text('The same password again.', 'staple battery horse correct')
})
export type ChangeBody = Static<typeof ChangeBody>

export const UserParams = closed({ user_id: UserId })

export const ResetBody = closed({
  new_password: Type.Optional(
    Type.String({ description: 'Default: a random password, which the response returns.' })
  ),
  temporary: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'The user must change the password at the next login, within 24 hours.',
      examples: [true]
    })
  ),
  keep_api_tokens: Type.Optional(
    Type.Boolean({ description: 'Do not revoke the bearer tokens of the user.' })
  )
})
export type ResetBody = Static<typeof ResetBody>

export const ResetReply = closed({
  user_id: UserId,
  sessions_revoked: Type.Integer({ description: 'Number of web sessions ended.', examples: [1] }),
  api_tokens_revoked: Type.Integer({ description: 'Number of bearer tokens revoked.', examples: [2] }),
  temporary_password: Type.Optional(Text('Shown only in this response.', 'EXAMPLE-of-a-password'))
})
export type ResetReply = Static<typeof ResetReply>

const SessionId = Text('ULID.', '01KCD3F0P7Q4Y6Z8V1T5S9R2NS')
export const SessionParams = closed({ session_id: SessionId })

export const SessionRow = closed(
  {
    session_id: SessionId,
    created_at: timeOf('When the session began.'),
    last_seen_at: timeOf('When the session was last used.'),
    expires_at: timeOf('When the session ends unless it is used before.'),
    remote_addr: Text('Address that opened the session.', '198.51.100.7'),
    method: Text('How the user signed in: password, or the method of a plugin.', 'password'),
    provider: orNull(Type.String(), {
      description: 'The provider that signed the user in.',
      examples: [null]
    }),
    factors: Type.Array(Type.String(), {
      description: 'What the user has proved, such as password and totp.',
      examples: [['password', 'totp']]
    }),
    fresh_until: orNull(Type.String(), {
      description: 'Until then, changes of credentials need no further proof; null: they never do.',
      examples: ['2026-01-01T00:15:00.000Z']
    }),
    current: Type.Boolean({ description: 'The session of this request.' })
  },
  { $id: 'Session' }
)
export type SessionRow = Static<typeof SessionRow>
