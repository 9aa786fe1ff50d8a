import { type Static, Type } from 'typebox'
import { closed, Time } from '../../kernel/http/schema.ts'

const Text = () => Type.String()

export const Status = closed({ onboarding_required: Type.Boolean() })

// The services check lengths and formats of these fields, with error codes of their own.
export const OnboardBody = closed({
  user_id: Text(),
  display_name: Text(),
  password: Text(),
  password_confirm: Text(),
  setup_token: Type.Optional(Text())
})
export type OnboardBody = Static<typeof OnboardBody>

export const Onboarded = closed({ user_id: Text(), display_name: Text(), role: Text() })

export const LoginBody = closed({ user_id: Text(), password: Text() })
export type LoginBody = Static<typeof LoginBody>

export const LoggedIn = closed({ password_change_required: Type.Boolean() })

export const ChangeBody = closed({
  current_password: Text(),
  new_password: Text(),
  new_password_confirm: Text()
})
export type ChangeBody = Static<typeof ChangeBody>

export const UserParams = closed({ id: Text() })

export const ResetBody = closed({
  new_password: Type.Optional(Type.String({ description: 'Without it a random one is made and returned.' })),
  temporary: Type.Optional(
    Type.Boolean({ default: true, description: 'It must be changed at the next login, within 24 hours.' })
  ),
  keep_api_tokens: Type.Optional(
    Type.Boolean({ description: 'Do not revoke the bearer tokens of the user.' })
  )
})
export type ResetBody = Static<typeof ResetBody>

export const ResetReply = closed({
  user_id: Text(),
  sessions_revoked: Type.Integer(),
  api_tokens_revoked: Type.Integer(),
  temporary_password: Type.Optional(Type.String({ description: 'Shown only in this response.' }))
})
export type ResetReply = Static<typeof ResetReply>

export const SessionParams = closed({ id: Text() })

export const SessionRow = closed({
  session_id: Text(),
  created_at: Time,
  last_seen_at: Time,
  expires_at: Time,
  remote_addr: Text(),
  current: Type.Boolean()
})
export type SessionRow = Static<typeof SessionRow>
