import { Type } from 'typebox'
import { clientNotFound, notOwner, userNotFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineList } from '../http/exports.ts'
import { type Envelopes, envelopeNotFound, envelopeResource } from './envelopes.ts'
import { burstWithoutRate } from './limits.ts'
import { unsupported as rateLimitUnsupported } from './requirement.ts'
import { ClientParams, EnvelopeBody, EnvelopeRow, limitsEmpty, OwnerParams, OwnerRow } from './schema.ts'

interface Deps {
  readonly envelopes: Envelopes
}

const url = '/v1/clients/:client_id/owners/:owner_id/rate-limit'

const missing = [clientNotFound, userNotFound]

const owners = defineList({
  url: '/v1/clients/:client_id/owners',
  action: 'owner_rate_limit.owners',
  access: 'viewer',
  summary: 'Lists the owners that have rules or a rate limit on a client.',
  schema: () => ({ params: ClientParams, row: OwnerRow, errors: [clientNotFound] }),
  run: ({ envelopes }: Deps, { params }) => envelopes.owners(params.client_id)
})

const read = defineRoute({
  method: 'GET',
  url,
  action: 'owner_rate_limit.read',
  access: 'user',
  summary: 'Returns the limits for all rules of an owner on a client together.',
  schema: () => ({
    params: OwnerParams,
    reply: EnvelopeRow,
    errors: [...missing, notOwner, envelopeNotFound]
  }),
  record: envelopeResource,
  run: ({ envelopes }: Deps, { params, principal }) => envelopes.read(params, principal)
})

const set = defineRoute({
  method: 'PUT',
  url,
  action: 'owner_rate_limit.set',
  access: 'operator',
  summary: 'Limits all rules of an owner on a client together, including open connections.',
  schema: () => ({
    params: OwnerParams,
    body: EnvelopeBody,
    reply: EnvelopeRow,
    errors: [...missing, limitsEmpty, burstWithoutRate, rateLimitUnsupported]
  }),
  run: ({ envelopes }: Deps, call) => envelopes.set(call.params, call.body, call),
  replay: ({ envelopes }, { params, principal }) => envelopes.read(params, principal)
})

const remove = defineRoute({
  method: 'DELETE',
  url,
  action: 'owner_rate_limit.delete',
  access: 'operator',
  status: 204,
  summary: 'Removes the limits of an owner on a client.',
  schema: () => ({ params: OwnerParams, reply: Type.Void(), errors: [...missing, envelopeNotFound] }),
  run: ({ envelopes }: Deps, call) => envelopes.remove(call.params, call)
})

export const routes = [owners, read, set, remove]
