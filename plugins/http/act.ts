// Changes that no request makes: a timer, an expiry.

import type { EntityManager } from '@mikro-orm/sql'
import { Fault, internal, unauthenticated, userDisabled } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import { currentRequestId } from '../../kernel/base/request-id.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Resource } from '../../kernel/http/route.ts'
import { User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Decision, isDenial, isUnavailable, type Recorder } from './decision.ts'

interface Acting<T> {
  /** A user's id, who must exist and be enabled; or the plugin itself, as a superadmin: '_' and its name. */
  readonly actor: string
  readonly action: string // 'rule.expire'; in the audit log
  readonly of: Resource | ((made: T) => Resource)
}

/**
 * Runs `work` in one transaction with its entry in the audit log, as `Call.change` does for a request. Throws what `work`
 * throws, and `unauthenticated` or `user_disabled`; a refusal has an entry, too. The entry has the id of the request that
 * led to the call, if there is one.
 */
export type Act = <T>(
  by: Acting<T>,
  work: (em: EntityManager, principal: Principal) => Promise<T>
) => Promise<T>

interface Deps extends Pick<Kernel, 'store' | 'clock'> {
  readonly recorder: Recorder
}

export function openAct({ store, clock, recorder }: Deps): Act {
  return async ({ actor, action, of }, work) => {
    let principal: Principal | null = null
    const decision = (status: number, reason: string | null, resource: Resource | null): Decision => {
      const now = clock.now()
      return {
        id: newId(now),
        timestamp: now,
        action,
        actor,
        role: principal?.role ?? null,
        authMethod: 'system',
        remoteAddr: null,
        method: '',
        path: '',
        resourceKind: resource?.kind ?? null,
        resourceId: resource?.id ?? null,
        outcome: isDenial(status, reason) ? 'deny' : 'allow',
        status,
        reason,
        requestId: currentRequestId.getStore() ?? newId(now)
      }
    }
    try {
      return await store.change(async em => {
        principal = await principalOf(actor, em)
        const result = await work(em, principal)
        await recorder.write(decision(200, null, typeof of === 'function' ? of(result) : of), em)
        return result
      })
    } catch (error) {
      const { http: status, code } = error instanceof Fault ? error.errorCode : internal
      const refused = decision(status, code, typeof of === 'function' ? null : of)
      if (recorder.isNeeded() && !isUnavailable(status, code))
        await store.change(em => recorder.write(refused, em))
      throw error
    }
  }
}

async function principalOf(actor: string, em: EntityManager): Promise<Principal> {
  if (/^_[a-z][a-z0-9-]{0,30}$/.test(actor) && actor !== operatorId)
    return { userId: actor, role: 'superadmin', method: 'system' }
  const user = await em.findOne(User, { id: actor })
  if (!user) throw new Fault(unauthenticated, `there is no user ${actor}`)
  if (user.disabled) throw new Fault(userDisabled, `user ${actor} is disabled`)
  return { userId: user.id, role: user.role, method: 'system' }
}
