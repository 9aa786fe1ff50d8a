import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** The lease of a running `apply`. `until` uses a clock that all servers of the store share (leases.ts). */
export const Lease = defineEntity({
  name: 'ApplyLease',
  tableName: 'apply_lease',
  properties: {
    scope: p.string().length(32).primary(), // the owner of the covered resources, '' for all
    id: p.string().length(26),
    userId: p.string().length(32),
    until: p.bigint('number')
  }
})
export type Lease = InferEntity<typeof Lease>
