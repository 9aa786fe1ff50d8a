// Leases for runs of `apply`. Without them, concurrent runs would undo each other's changes, also on two servers of a cluster.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault, notFound } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { timeOf } from '../../kernel/store/postgres/dialect.ts'
import { mayBeShared } from '../../kernel/store/sql/database.ts'
import { managesAll } from '../http/exports.ts'
import { Lease } from './entities.ts'

export const applyInProgress = defineCode('apply_in_progress', 409, 5)

export const leaseMs = 60_000

/** Serializes runs of `apply` that cover the same resources. */
export interface Leases {
  /** Returns the id of a new lease. Throws `apply_in_progress` while another lease is active. */
  take(principal: Principal): Promise<string>
  /** Throws `not_found` if the lease has ended. */
  renew(id: string, principal: Principal): Promise<void>
  /** Throws `not_found` if the lease has ended. */
  end(id: string, principal: Principal): Promise<void>
}

export function openLeases({ store, clock }: Pick<Kernel, 'store' | 'clock'>): Leases {
  /** Returns the user's own id as the scope, or '' for all resources. */
  const scopeOf = (caller: Principal): string => (managesAll(caller) ? '' : caller.userId)

  /** Reads the clock of the database, or of the only server. */
  const timeIn = (em: EntityManager): Promise<number> | number =>
    mayBeShared(em) ? timeOf(em) : clock.steady()

  /** Rejects a lease that ends later than a new one would: it was written under another clock. */
  const isActive = ({ until }: Lease, now: number): boolean => until > now && until <= now + leaseMs

  /** Returns the new end of the user's lease. Throws `not_found` if it has ended. */
  async function requireOwn(id: string, principal: Principal, em: EntityManager): Promise<number> {
    const now = await timeIn(em)
    const lease = await em.findOne(Lease, { scope: scopeOf(principal), id })
    if (!lease || !isActive(lease, now))
      throw new Fault(notFound, 'the lease has ended; run apply again to complete the remaining steps')
    return now + leaseMs
  }

  return {
    async take(principal) {
      const scope = scopeOf(principal)
      const id = newId(clock.now())
      await store.change(async em => {
        const now = await timeIn(em)
        const other = await em.findOne(Lease, { scope })
        if (other && isActive(other, now))
          throw new Fault(
            applyInProgress,
            `${other.userId} is applying a file; retry when that run has ended, or ${leaseMs / 1000} s after a crash`
          )
        await em.nativeDelete(Lease, { until: { $lte: now } })
        await em.upsert(Lease, { scope, id, userId: principal.userId, until: now + leaseMs })
      })
      return id
    },
    renew: (id, principal) =>
      store.change(async em => {
        const until = await requireOwn(id, principal, em)
        await em.nativeUpdate(Lease, { scope: scopeOf(principal) }, { until })
      }),
    end: (id, principal) =>
      store.change(async em => {
        await requireOwn(id, principal, em)
        await em.nativeDelete(Lease, { scope: scopeOf(principal) })
      })
  }
}
