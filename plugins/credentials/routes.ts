import { Type } from 'typebox'
import { limitReached, notOwner, userNotFound } from '../../kernel/base/errors.ts'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Credentials, credentialNotFound } from './credentials.ts'
import { CredentialParams, CredentialRow, IssueBody, IssuedCredential, UserParams } from './schema.ts'

export interface RouteDeps extends Kernel {
  readonly credentials: Credentials
}

const missing = [userNotFound, notOwner, credentialNotFound]

const issue = defineRoute({
  method: 'POST',
  url: '/v1/users/:user_id/credentials',
  action: 'credential.issue',
  access: 'self',
  status: 201,
  summary: 'Issues a token.',
  description: 'The bearer token is only in this response.',
  secrets: ['token'],
  schema: () => ({
    params: UserParams,
    body: IssueBody,
    reply: IssuedCredential,
    errors: [userNotFound, notOwner, limitReached]
  }),
  run: ({ credentials }: RouteDeps, call) => credentials.issue(call.params.user_id, call.body, call)
})

const list = defineList({
  url: '/v1/users/:user_id/credentials',
  action: 'credential.list',
  access: 'user',
  summary: 'Lists the tokens of a user, without their secrets.',
  schema: () => ({ params: UserParams, row: CredentialRow, errors: [userNotFound, notOwner] }),
  run: ({ credentials }: RouteDeps, { params, principal }) => credentials.list(params.user_id, principal)
})

const revoke = defineRoute({
  method: 'DELETE',
  url: '/v1/users/:user_id/credentials/:cred_id',
  action: 'credential.revoke',
  access: 'self',
  status: 204,
  summary: 'Revokes a token.',
  schema: () => ({ params: CredentialParams, reply: Type.Void(), errors: missing }),
  run: ({ credentials }: RouteDeps, call) =>
    credentials.revoke(call.params.user_id, call.params.cred_id, call)
})

const rotate = defineRoute({
  method: 'POST',
  url: '/v1/users/:user_id/credentials/:cred_id/rotate',
  action: 'credential.rotate',
  access: 'self',
  status: 201,
  summary: 'Replaces a token.',
  description: 'The old token stops working. The new one is only in this response.',
  secrets: ['token'],
  schema: () => ({ params: CredentialParams, reply: IssuedCredential, errors: missing }),
  run: ({ credentials }: RouteDeps, call) =>
    credentials.rotate(call.params.user_id, call.params.cred_id, call)
})

export const routes = [issue, list, revoke, rotate]
