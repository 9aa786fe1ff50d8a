import { Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import { closed } from '../../kernel/http/schema.ts'
import { type Leases, leaseMs } from './leases.ts'

interface Deps {
  readonly leases: Leases
}

const Lease = closed({ lease_id: Type.String(), ttl_secs: Type.Integer() })
const Params = Type.Object({ lease_id: Type.String() })
const shown = (lease_id: string) => ({ lease_id, ttl_secs: leaseMs / 1000 })

const take = defineRoute({
  method: 'POST',
  url: '/v1/apply-leases',
  action: 'apply.begin',
  access: 'user',
  status: 201,
  summary: 'Takes a lease for applying a document: one for each user, and one for all superadmins together.',
  schema: () => ({ reply: Lease }),
  run: async ({ leases }: Deps, { principal }) => shown(leases.take(principal))
})

const renew = defineRoute({
  method: 'PUT',
  url: '/v1/apply-leases/:lease_id',
  action: 'apply.renew',
  access: 'user',
  summary: 'Renews the lease.',
  schema: () => ({ params: Params, reply: Lease }),
  async run({ leases }: Deps, { params, principal }) {
    leases.renew(params.lease_id, principal)
    return shown(params.lease_id)
  }
})

const end = defineRoute({
  method: 'DELETE',
  url: '/v1/apply-leases/:lease_id',
  action: 'apply.end',
  access: 'user',
  status: 204,
  summary: 'Ends the lease.',
  schema: () => ({ params: Params, reply: Type.Void() }),
  run: async ({ leases }: Deps, { params, principal }) => leases.end(params.lease_id, principal)
})

export const routes = [take, renew, end]
