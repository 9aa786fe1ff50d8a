// Two that bring the server into different states at once would undo each other: one of them waits. In memory, since a
// restart of the server ends what either was doing.
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
  const leases = new Map<string, Lease>() // by whose resources it is about

  /** A user touches only their own; superadmins all. */
  const scopeOf = ({ role, userId }: Principal): string => (role === 'superadmin' ? '' : userId)

  const live = (scope: string): Lease | undefined => {
    const lease = leases.get(scope)
    if (lease && lease.until > clock.now()) return lease
    leases.delete(scope)
    return undefined
  }

  function mine(id: string, principal: Principal): Lease {
    const lease = live(scopeOf(principal))
    if (lease?.id !== id) throw new Fault(notFound, 'this lease is over; begin again: what was done is kept')
    return lease
  }

  return {
    take(principal: Principal) {
      const scope = scopeOf(principal)
      const other = live(scope)
      if (other)
        throw new Fault(
          applyInProgress,
          `${other.userId} applies a file at this moment; try again when it is done, in ${leaseMs / 1000} s at most`
        )
      const lease = { id: newId(clock.now()), userId: principal.userId, until: clock.now() + leaseMs }
      leases.set(scope, lease)
      return lease.id
    },
    renew(id: string, principal: Principal) {
      mine(id, principal).until = clock.now() + leaseMs
    },
    end(id: string, principal: Principal) {
      if (mine(id, principal)) leases.delete(scopeOf(principal))
    }
  }
}
