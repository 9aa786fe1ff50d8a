// Changes without a request, such as timers and expiries.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, internal, roleRequired, unauthenticated, userDisabled } from '../../../kernel/base/errors.ts'
import { currentRequestId } from '../../../kernel/base/request-id.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { Call, Resource } from '../../../kernel/http/route.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { operatorId } from '../../../kernel/identity/identity.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type Decision, decisionOf, isUnavailable, type Recorder } from './decision.ts'

/**
 * Runs `work` with the parts of a request's call that services need: `principal`, and `change`, which runs a change and
 * writes its audit entry in one transaction. `actor` is an enabled user, or '_' and the plugin's name for a superadmin.
 * `action` is for example 'rule.expire'. Throws the errors of `work`, and `unauthenticated`, `user_disabled` or
 * `role_required`. Refusals are recorded, too. Entries have the id of the current request, if there is one.
 */
export type Act = <T>(actor: string, action: string, work: (call: ActCall) => Promise<T>) => Promise<T>

export type ActCall = Pick<Call, 'principal' | 'change'>

interface Deps extends Pick<Kernel, 'store' | 'clock'> {
  readonly recorder: Recorder
}

export function openAct({ store, clock, recorder }: Deps): Act {
  return async (actor, action, work) => {
    const requestId = currentRequestId.getStore() ?? newId(clock.now())
    let principal: Principal | null = null
    let recorded: Decision | null = null

    const decisionWith = (status: number, reason: string | null, resource: Resource | null): Decision =>
      decisionOf({
        timestamp: clock.now(),
        action,
        actor,
        role: principal?.role ?? null,
        authMethod: 'system',
        remoteAddr: null,
        method: '',
        path: '',
        resource,
        status,
        reason,
        requestId
      })

    const change: ActCall['change'] = async (of, makeChange) => {
      const { result, decision } = await store.change(async em => {
        await confirm(actor, principal, em)
        const result = await makeChange(em)
        const resource = typeof of === 'function' ? of(result) : of
        return { result, decision: recorded ?? (await recorder.write(decisionWith(200, null, resource), em)) }
      })
      recorded = decision // after the commit
      return result
    }

    async function recordRefusal(error: unknown): Promise<void> {
      const { http: status, code } = error instanceof Fault ? error.errorCode : internal
      if (!recorder.isNeeded() || isUnavailable(status, code)) return
      const made = decisionWith(status, code, null) // once, even if the change is retried
      await store.change(em =>
        recorded ? recorder.complete(recorded, status, code, em) : recorder.write(made, em)
      )
    }

    try {
      principal = await store.read(em => principalOf(actor, em))
      return await work({ principal, change })
    } catch (error) {
      await recordRefusal(error)
      throw error
    }
  }
}

/** Checks the actor again in the transaction of the change. */
async function confirm(actor: string, before: Principal | null, em: EntityManager): Promise<void> {
  const { role } = await principalOf(actor, em)
  if (role !== before?.role)
    throw new Fault(roleRequired, `the role of ${actor} was changed to ${role} at the same time; try again`)
}

async function principalOf(actor: string, em: EntityManager): Promise<Principal> {
  if (/^_[a-z][a-z0-9-]{0,30}$/.test(actor) && actor !== operatorId)
    return { userId: actor, role: 'superadmin', method: 'system' }
  const user = await em.findOne(User, { id: actor })
  if (!user) throw new Fault(unauthenticated, `there is no user ${actor}`)
  if (user.disabled) throw new Fault(userDisabled, `user ${actor} is disabled`)
  return { userId: user.id, role: user.role, method: 'system' }
}
