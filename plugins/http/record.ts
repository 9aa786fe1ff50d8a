import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../../kernel/base/id.ts'
import { type Decision, decisionSlot } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import { bootstrapRequired } from './errors.ts'
import type { HttpOptions } from './http.ts'
import type { Idempotency } from './idempotency.ts'
import { isRead, type Outcome, type RequestContext } from './request-context.ts'

type Options = Pick<HttpOptions, 'store' | 'clock' | 'filled'> & { readonly repeats: Idempotency }

/** One decision for every mutation and every denial: with the change where there is one, else with the outcome. */
export function openRecord({ store, clock, filled, repeats }: Options) {
  const sinks = () => filled(decisionSlot).map(({ value }) => value)

  function decide(turn: RequestContext, status: number | null, reason: string | null): Decision {
    const { route, requestInfo, principal, resource, requestId } = turn
    const isKnown = principal.method !== 'none'
    const timestamp = clock.now()
    return {
      id: newId(timestamp),
      timestamp,
      action: route.action,
      actor: isKnown ? principal.userId : null,
      role: isKnown ? principal.role : null,
      authMethod: principal.method,
      remoteAddr: requestInfo.remoteAddr,
      method: requestInfo.method,
      path: requestInfo.path,
      resourceKind: resource?.kind ?? null,
      resourceId: resource?.id ?? null,
      outcome: isDenial(status, reason) ? 'deny' : 'allow',
      status,
      reason,
      requestId
    }
  }

  async function tell(decision: Decision, em: EntityManager): Promise<Decision> {
    for (const sink of sinks()) await sink.write(decision, em)
    return decision
  }

  /** `change` of a call: the work, the decision and the row of the key are one transaction. */
  const changeOf =
    (turn: RequestContext): Call['change'] =>
    async (of, work) => {
      const { made, ...written } = await store.change(async em => {
        const made = await work(em)
        if (turn.isRefused) throw new Error('it came after the answer, which was an error')
        const { decision: first, claim, route } = turn
        if (first) return { made }
        const resource = typeof of === 'function' ? of(made) : of
        const status = route.outcome === 'deferred' ? null : route.status
        const decision = await tell(decide({ ...turn, resource }, status, null), em)
        if (claim) await repeats.note(claim, resource, em)
        return { made, resource, decision }
      })
      Object.assign(turn, written) // only once it is on the disk
      return made
    }

  /** Before the answer goes out: what the change has not written, or the answer that its decision waited for. */
  async function close(turn: RequestContext, outcome: Outcome): Promise<void> {
    const { decision, claim } = turn
    const { status, reason } = outcome
    const isMute = (isRead(turn) && !isDenial(status, reason)) || isTurnedAway(status, reason)
    const isTold = decision ? decision.status === status : isMute
    const kept = claim && !claim.past && !mayPass(status) ? claim : null
    if (!kept && (isTold || sinks().length === 0)) return
    turn.decision = await store.change(async em => {
      if (kept) await repeats.keep(kept, turn, outcome, em)
      if (isTold) return decision
      if (!decision) return tell(decide(turn, status, reason), em)
      for (const sink of sinks()) await sink.complete(decision.id, status, reason, em)
      return { ...decision, status, reason }
    })
  }

  return { changeOf, close }
}

const isRefused = (status: number | null): boolean => status === 401 || status === 403 || status === 429

const isDenial = (status: number | null, reason: string | null): boolean =>
  isRefused(status) || reason === bootstrapRequired.code

/** Nothing was judged: a flood shall not fill the record, nor cost a write a drop. */
const isTurnedAway = (status: number, reason: string | null): boolean =>
  status === 503 && reason !== bootstrapRequired.code

/** It may turn out otherwise when it is asked again: no answer to keep. */
const mayPass = (status: number): boolean => isRefused(status) || status >= 500
