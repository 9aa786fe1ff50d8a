// Leases for runs of `apply`, because two runs at once would undo each other's changes. They are kept in memory: after
// a restart of the server a run begins again.
import { defineCode, Fault, notFound } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'

export const applyInProgress = defineCode('apply_in_progress', 409, 5)

export const leaseMs = 60_000

interface Lease {
  readonly id: string
  readonly userId: string
  until: number
}

export type Leases = ReturnType<typeof openLeases>

export function openLeases({ clock }: Kernel) {
  const leases = new Map<string, Lease>() // by the user whose resources it covers, '' for all

  /** The resources that a caller may change: its own, or all for a superadmin. */
  const scopeOf = ({ role, userId }: Principal): string => (role === 'superadmin' ? '' : userId)

  const activeLease = (scope: string): Lease | undefined => {
    const lease = leases.get(scope)
    if (lease && lease.until > clock.monotonic()) return lease
    leases.delete(scope)
    return undefined
  }

  function ownLease(id: string, principal: Principal): Lease {
    const lease = activeLease(scopeOf(principal))
    if (lease?.id !== id) throw new Fault(notFound, 'the lease has ended; run apply again to do the rest')
    return lease
  }

  return {
    take(principal: Principal) {
      const scope = scopeOf(principal)
      const other = activeLease(scope)
      if (other)
        throw new Fault(
          applyInProgress,
          `${other.userId} is applying a file; try again when it is done, or ${leaseMs / 1000} s after a crash`
        )
      const lease = { id: newId(clock.now()), userId: principal.userId, until: clock.monotonic() + leaseMs }
      leases.set(scope, lease)
      return lease.id
    },
    renew(id: string, principal: Principal) {
      ownLease(id, principal).until = clock.monotonic() + leaseMs
    },
    end(id: string, principal: Principal) {
      if (ownLease(id, principal)) leases.delete(scopeOf(principal))
    }
  }
}
