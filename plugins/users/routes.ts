import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Users } from './users.ts'

interface Deps {
  readonly users: Users
}

const Role = Type.Union([Type.Literal('superadmin'), Type.Literal('user')])

const Me = Type.Object(
  { user_id: Type.String(), role: Role, display_name: Type.String() },
  { additionalProperties: false }
)

const me = defineRoute({
  method: 'GET',
  url: '/v1/users/me',
  action: 'self.read',
  access: 'user',
  status: 200,
  summary: 'Who is calling',
  schema: () => ({ reply: Me }),
  run: ({ users }: Deps, { principal }) => users.me(principal)
})

export const routes = [me]
