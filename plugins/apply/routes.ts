import { Type } from 'typebox'
import { notFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { closed } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { defineList } from '../http/exports.ts'
import { applyInProgress, type Leases, leaseMs } from './leases.ts'
import { normalizeEntries, normalizeErrors } from './normalize-entries.ts'
import { documentBody, KindRow, kindRows, normalDocument } from './schema.ts'

interface Deps {
  readonly leases: Leases
  readonly filled: SlotReader
}

const LeaseId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NL'] })
const Lease = closed(
  {
    lease_id: LeaseId,
    ttl_secs: Type.Integer({
      description: 'Seconds until the lease expires, unless it is renewed.',
      examples: [leaseMs / 1000]
    })
  },
  { $id: 'ApplyLease' }
)
const Params = Type.Object({ lease_id: LeaseId })
const toReply = (lease_id: string) => ({ lease_id, ttl_secs: leaseMs / 1000 })

const take = defineRoute({
  method: 'POST',
  url: '/v1/apply-leases',
  action: 'apply.begin',
  access: 'user',
  status: 201,
  summary: 'Takes a lease for applying a document.',
  description: 'Each user can have one lease; all operators and superadmins share one.',
  schema: () => ({ reply: Lease, errors: [applyInProgress] }),
  run: async ({ leases }: Deps, { principal }) => toReply(await leases.take(principal))
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
    return toReply(params.lease_id)
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
  reads: true,
  bodyBytes: 256 * 1024, // of several entries, or of one as long as a rule can be
  summary: 'Validates the entries of a document without changes.',
  description:
    'Returns the entries with each value as a record shows it, with ids of clients instead of names in the request. Ports and grants are checked when the objects are created. A long document can be sent in parts.',
  schema: filled => ({
    body: documentBody(filled),
    reply: normalDocument(filled),
    errors: normalizeErrors(filled)
  }),
  run: async ({ filled }: Deps, { body, principal }) => normalizeEntries(body, { filled, principal })
})

const kinds = defineList({
  url: '/v1/apply-kinds',
  action: 'apply.kinds',
  access: 'user',
  summary: 'Lists the kinds of objects that a document can have.',
  schema: () => ({ row: KindRow, errors: [] }),
  run: async ({ filled }: Deps) => kindRows(filled)
})

export const routes = [take, renew, end, check, kinds]
