import type { Call } from '../../../kernel/http/route.ts'
import { type Decision, decisionOf, isDenial, isTransient, isUnavailable } from '../change/decision.ts'
import { etagAfter, etagOf, requireMatch } from '../request/etag.ts'
import { isRead, type Outcome, type RequestContext } from '../request/request-context.ts'
import type { HttpOptions } from '../settings.ts'
import type { Guard } from './guard.ts'
import type { Idempotency } from './idempotency.ts'

interface Options extends Pick<HttpOptions, 'store' | 'clock' | 'recorder'> {
  readonly guard: Pick<Guard, 'confirmed'>
  readonly idempotency: Idempotency
}

/** Sends one decision about every mutation and every denial to `http.decision`. */
export interface Decisions {
  /** Returns `change` of a call. It checks the caller, runs the work and writes the records in one transaction. */
  changeOf(context: RequestContext): Call['change']
  /** Records the rest before the response: denials, refusals, other outcomes, and responses for the Idempotency-Key. */
  complete(context: RequestContext, outcome: Outcome): Promise<void>
}

export function openDecisions({ store, clock, recorder, guard, idempotency }: Options): Decisions {
  function changeOf(context: RequestContext): Call['change'] {
    const change: Call['change'] = async (of, work) => {
      const { result, ...recorded } = await store.change(async em => {
        const { conditions } = context
        const [before, result] = await guard.confirmed(context, em, async () => [
          conditions && typeof of === 'object' ? await etagOf(of, em) : undefined,
          await work(em)
        ])
        if (context.isRefused) throw new Error('the change was too late: an error response was already sent')
        const { decision: earlier, claim, route } = context
        if (earlier) return { result }
        if (conditions) requireMatch(conditions, before) // after the refusals of `work`: 404, 403
        const resource = typeof of === 'function' ? of(result) : of
        const status = route.outcome === 'deferred' ? null : route.status
        const [decision, etag] = await Promise.all([
          recorder.write(decisionAbout({ ...context, resource }, status, null, clock.now()), em),
          route.status === 204 ? null : etagAfter(resource, result, em),
          claim && idempotency.recordChange(claim, resource, em)
        ])
        return { result, resource, decision, etag: etag || null }
      })
      Object.assign(context, recorded) // after the commit
      return result
    }
    return change
  }

  async function complete(context: RequestContext, outcome: Outcome): Promise<void> {
    const { decision, claim } = context
    const { status, reason } = outcome
    const needsNone = (isRead(context) && !isDenial(status, reason)) || isUnavailable(status, reason)
    const isRecorded = decision ? decision.status === status : needsNone
    const keptClaim = claim && !claim.earlier && !isTransient(status) ? claim : null
    if (!keptClaim && (isRecorded || !recorder.isNeeded())) return
    const made = decisionAbout(context, status, reason, clock.now()) // once, even if the change is retried
    context.decision = await store.change(async em => {
      if (keptClaim) await idempotency.recordOutcome(keptClaim, context, outcome, em)
      if (isRecorded) return decision
      return decision ? recorder.complete(decision, status, reason, em) : recorder.write(made, em)
    })
  }

  return { changeOf, complete }
}

function decisionAbout(
  { route, requestInfo, principal, resource, requestId }: RequestContext,
  status: number | null,
  reason: string | null,
  timestamp: number
): Decision {
  const isAuthenticated = principal.method !== 'none'
  return decisionOf({
    timestamp,
    action: route.action,
    actor: isAuthenticated ? principal.userId : null,
    role: isAuthenticated ? principal.role : null,
    authMethod: principal.method,
    remoteAddr: requestInfo.remoteAddr,
    method: requestInfo.method,
    path: requestInfo.path,
    resource,
    status,
    reason,
    requestId
  })
}
