import { Type } from 'typebox'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Credentials } from './credentials.ts'
import { CredentialParams, CredentialRow, IssueBody, IssuedCredential, UserParams } from './schema.ts'

export interface RouteDeps extends Kernel {
  readonly credentials: Credentials
}

const issue = defineRoute({
  method: 'POST',
  url: '/v1/users/:id/credentials',
  action: 'credential.issue',
  access: 'user',
  status: 201,
  summary: 'Issues a bearer token, which is shown once.',
  secrets: ['token'],
  schema: () => ({ params: UserParams, body: IssueBody, reply: IssuedCredential }),
  run: ({ credentials }: RouteDeps, call) => credentials.issue(call.params.id, call.body, call)
})

const list = defineList({
  url: '/v1/users/:id/credentials',
  action: 'credential.list',
  access: 'user',
  summary: 'Lists the credentials of a user, without their tokens.',
  schema: () => ({ params: UserParams, row: CredentialRow }),
  run: ({ credentials }: RouteDeps, { params, principal }) => credentials.list(params.id, principal)
})

const revoke = defineRoute({
  method: 'DELETE',
  url: '/v1/users/:id/credentials/:cred_id',
  action: 'credential.revoke',
  access: 'user',
  status: 204,
  summary: 'Revokes a credential.',
  schema: () => ({ params: CredentialParams, reply: Type.Void() }),
  run: ({ credentials }: RouteDeps, call) => credentials.revoke(call.params.id, call.params.cred_id, call)
})

const rotate = defineRoute({
  method: 'POST',
  url: '/v1/users/:id/credentials/:cred_id/rotate',
  action: 'credential.rotate',
  access: 'user',
  status: 201,
  summary: 'Gives a credential a new token; the old one ends.',
  secrets: ['token'],
  schema: () => ({ params: CredentialParams, reply: IssuedCredential }),
  run: ({ credentials }: RouteDeps, call) => credentials.rotate(call.params.id, call.params.cred_id, call)
})

export const routes = [issue, list, revoke, rotate]
