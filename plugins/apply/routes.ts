import { Type } from 'typebox'
import { notFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { closed } from '../../kernel/http/schema.ts'
import { applyInProgress, type Leases, leaseMs } from './leases.ts'

interface Deps {
  readonly leases: Leases
}

const LeaseId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NL'] })
const Lease = closed(
  {
    lease_id: LeaseId,
    ttl_secs: Type.Integer({
      description: 'Seconds until it ends unless it is renewed.',
      examples: [leaseMs / 1000]
    })
  },
  { $id: 'ApplyLease' }
)
const Params = Type.Object({ lease_id: LeaseId })
const shown = (lease_id: string) => ({ lease_id, ttl_secs: leaseMs / 1000 })

const take = defineRoute({
  method: 'POST',
  url: '/v1/apply-leases',
  action: 'apply.begin',
  access: 'user',
  status: 201,
  summary: 'Takes a lease for applying a document.',
  description: 'There is one for each user, and one for all superadmins together.',
  schema: () => ({ reply: Lease, errors: [applyInProgress] }),
  run: async ({ leases }: Deps, { principal }) => shown(leases.take(principal))
})

const renew = defineRoute({
  method: 'PUT',
  url: '/v1/apply-leases/:lease_id',
  action: 'apply.renew',
  access: 'user',
  summary: 'Renews the lease.',
  schema: () => ({ params: Params, reply: Lease, errors: [notFound] }),
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
  schema: () => ({ params: Params, reply: Type.Void(), errors: [notFound] }),
  run: async ({ leases }: Deps, { params, principal }) => leases.end(params.lease_id, principal)
})

export const routes = [take, renew, end]
