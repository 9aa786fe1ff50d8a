import { Type } from 'typebox'
import { limitReached, notOwner, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { defineList } from '../http/exports.ts'
import { credentialLifetime, credentialNotFound, credentialTooBroad, invalidScopes } from './codes.ts'
import type { Credentials } from './credentials.ts'
import type { KnownScopes } from './known-scopes.ts'
import {
  CredentialParams,
  CredentialRow,
  IssueBody,
  IssuedCredential,
  ScopeRow,
  UserParams
} from './schema.ts'

export interface RouteDeps extends Kernel {
  readonly credentials: Credentials
  readonly knownScopes: KnownScopes
}

const missing = [userNotFound, notOwner, credentialNotFound]

const issue = defineRoute({
  method: 'POST',
  url: '/v1/users/:user_id/credentials',
  action: 'credential.issue',
  access: 'self',
  needsFresh: true,
  status: 201,
  summary: 'Issues a token.',
  description:
    'The bearer token is only in this response. A token issues none with more scopes, sources or lifetime than its own, and tokens of viewers have read scopes only.',
  secrets: ['token'],
  schema: () => ({
    params: UserParams,
    body: IssueBody,
    reply: IssuedCredential,
    errors: [userNotFound, notOwner, invalidScopes, credentialLifetime, credentialTooBroad, limitReached]
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
  needsFresh: true,
  status: 201,
  summary: 'Replaces a token.',
  description:
    'The old token stops working. The new one, with the same scopes, sources and lifetime, is only in this response.',
  secrets: ['token'],
  schema: () => ({
    params: CredentialParams,
    reply: IssuedCredential,
    errors: [...missing, credentialTooBroad]
  }),
  run: ({ credentials }: RouteDeps, call) =>
    credentials.rotate(call.params.user_id, call.params.cred_id, call)
})

const scopes = defineList({
  url: '/v1/scopes',
  action: 'scope.list',
  access: 'user',
  summary: 'Lists the scopes that a token can have, with their routes.',
  schema: () => ({ row: ScopeRow, errors: [] }),
  run: async ({ knownScopes }: RouteDeps) => knownScopes.list()
})

export const routes = [issue, list, revoke, rotate, scopes]
