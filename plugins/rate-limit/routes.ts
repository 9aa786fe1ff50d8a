import { Type } from 'typebox'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Envelopes } from './envelopes.ts'
import { ClientParams, EnvelopeBody, EnvelopeRow, OwnerParams, OwnerRow } from './schema.ts'

interface Deps {
  readonly envelopes: Envelopes
}

const url = '/v1/clients/:client_id/owners/:owner_id/rate-limit'

const owners = defineList({
  url: '/v1/clients/:client_id/owners',
  action: 'owner_rate_limit.owners',
  access: 'superadmin',
  summary: 'Who has rules on a client, or a rate limit there.',
  schema: () => ({ params: ClientParams, row: OwnerRow }),
  run: ({ envelopes }: Deps, { params }) => envelopes.owners(params.client_id)
})

const read = defineRoute({
  method: 'GET',
  url,
  action: 'owner_rate_limit.read',
  access: 'user',
  status: 200,
  summary: 'What all rules of an owner on a client may do together.',
  schema: () => ({ params: OwnerParams, reply: EnvelopeRow }),
  run: ({ envelopes }: Deps, { params, principal }) => envelopes.read(params, principal)
})

const set = defineRoute({
  method: 'PUT',
  url,
  action: 'owner_rate_limit.set',
  access: 'superadmin',
  status: 200,
  summary: 'Limits all rules of an owner on a client together; it reaches live connections.',
  schema: () => ({ params: OwnerParams, body: EnvelopeBody, reply: EnvelopeRow }),
  run: ({ envelopes }: Deps, call) => envelopes.set(call.params, call.body, call),
  replay: ({ envelopes }, { params, principal }) => envelopes.read(params, principal)
})

const remove = defineRoute({
  method: 'DELETE',
  url,
  action: 'owner_rate_limit.delete',
  access: 'superadmin',
  status: 204,
  summary: 'Lifts the limit of an owner on a client.',
  schema: () => ({ params: OwnerParams, reply: Type.Void() }),
  run: ({ envelopes }: Deps, call) => envelopes.remove(call.params, call)
})

export const routes = [owners, read, set, remove]
