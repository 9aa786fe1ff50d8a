import { type Static, Type } from 'typebox'
import { closed, timeOf, UserId } from '../../kernel/http/schema.ts'

const Text = (description: string, example: string) => Type.String({ description, examples: [example] })
const Password = (description = '12 to 1024 bytes.') => Text(description, 'correct horse battery staple')
const DisplayName = Text('1 to 64 characters.', 'Ann Miller')

export const Status = closed({
  onboarding_required: Type.Boolean({
    description: 'There is no superadmin yet: the setup token of the log makes the first one.',
    examples: [false]
  })
})

// The services check lengths and formats of these fields, with error codes of their own.
export const OnboardBody = closed({
  user_id: UserId,
  display_name: DisplayName,
  password: Password(),
  password_confirm: Password('The same once more.'),
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

export const LoggedIn = closed({
  password_change_required: Type.Boolean({
    description: 'The password is temporary: all else is refused until it is changed.',
    examples: [false]
  })
})

export const ChangeBody = closed({
  current_password: Password('The password until now.'),
  new_password: Text('12 to 1024 bytes.', 'staple battery horse correct'),
  new_password_confirm: Text('The same once more.', 'staple battery horse correct')
})
export type ChangeBody = Static<typeof ChangeBody>

export const UserParams = closed({ user_id: UserId })

export const ResetBody = closed({
  new_password: Type.Optional(Type.String({ description: 'Without it a random one is made and returned.' })),
  temporary: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'It must be changed at the next login, within 24 hours.',
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
  sessions_revoked: Type.Integer({ description: 'Web sessions that ended.', examples: [1] }),
  api_tokens_revoked: Type.Integer({ description: 'Bearer tokens that ended.', examples: [2] }),
  temporary_password: Type.Optional(Text('Shown only in this response.', 'EXAMPLE-of-a-password'))
})
export type ResetReply = Static<typeof ResetReply>

const SessionId = Text('ULID.', '01KCD3F0P7Q4Y6Z8V1T5S9R2NS')
export const SessionParams = closed({ session_id: SessionId })

export const SessionRow = closed(
  {
    session_id: SessionId,
    created_at: timeOf('When it began.'),
    last_seen_at: timeOf('When it was used last.'),
    expires_at: timeOf('When it ends, if it is not used meanwhile.'),
    remote_addr: Text('From where it was opened.', '198.51.100.7'),
    current: Type.Boolean({ description: 'The session of this request.' })
  },
  { $id: 'Session' }
)
export type SessionRow = Static<typeof SessionRow>
