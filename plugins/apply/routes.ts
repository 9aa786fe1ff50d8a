import { Type } from 'typebox'
import { notFound } from '../../kernel/base/errors.ts'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { closed } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { applyInProgress, type Leases, leaseMs } from './leases.ts'
import { documentBody, KindRow, kindRows } from './schema.ts'

interface Deps {
  readonly leases: Leases
  readonly filled: SlotReader
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
  run: async ({ leases }: Deps, { principal }) => shown(await leases.take(principal))
})

const renew = defineRoute({
  method: 'PUT',
  url: '/v1/apply-leases/:lease_id',
  action: 'apply.renew',
  access: 'user',
  summary: 'Renews the lease.',
  schema: () => ({ params: Params, reply: Lease, errors: [notFound] }),
  async run({ leases }: Deps, { params, principal }) {
    await leases.renew(params.lease_id, principal)
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
  run: ({ leases }: Deps, { params, principal }) => leases.end(params.lease_id, principal)
})

const check = defineRoute({
  method: 'POST',
  url: '/v1/apply-checks',
  action: 'apply.check',
  access: 'user',
  status: 204,
  summary: 'Judges the entries of a document, and changes nothing.',
  description:
    'By their form alone: whether ports are free and grants suffice is judged when the objects are made. A long document is sent in parts.',
  schema: filled => ({ body: documentBody(filled), reply: Type.Void(), errors: [] }),
  run: async () => {} // the schema has judged it
})

const kinds = defineList({
  url: '/v1/apply-kinds',
  action: 'apply.kinds',
  access: 'user',
  summary: 'Lists the kinds of objects that a document may have.',
  schema: () => ({ row: KindRow, errors: [] }),
  run: async ({ filled }: Deps) => kindRows(filled)
})

export const routes = [take, renew, end, check, kinds]
