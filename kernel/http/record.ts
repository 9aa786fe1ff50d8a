import type { EntityManager } from '@mikro-orm/sql'
import type { Clock } from '../base/clock.ts'
import { bootstrapRequired } from '../base/errors.ts'
import { newId } from '../base/id.ts'
import type { FilledBy } from '../slot.ts'
import type { Database } from '../store/open.ts'
import { type Decision, decisionSlot } from './principal.ts'
import type { Repeats } from './repeats.ts'
import type { Call } from './route.ts'
import { isRead, type Outcome, type Turn } from './turn.ts'

export interface Record {
  /** `change` of a call: the work, the decision and the repeat's row are one transaction. */
  changeOf(turn: Turn): Call['change']
  /** Before the answer goes out: what the change has not written down yet, or the answer that it waited for. */
  close(turn: Turn, outcome: Outcome): Promise<void>
}

interface Options {
  readonly store: Pick<Database, 'change'>
  readonly clock: Clock
  readonly filled: FilledBy
  readonly repeats: Repeats
}

/** One decision for every mutation and every denial. */
export function openRecord({ store, clock, filled, repeats }: Options): Record {
  const sinks = () => filled(decisionSlot).map(({ value }) => value)

  function decide(turn: Turn, status: number | null, reason: string | null): Decision {
    const { route, visit, principal, resource, requestId } = turn
    const isKnown = principal.method !== 'none'
    return {
      id: newId(),
      timestamp: clock.now(),
      action: route.action,
      actor: isKnown ? principal.userId : null,
      role: isKnown ? principal.role : null,
      authMethod: principal.method,
      remoteAddr: visit.remoteAddr,
      method: visit.method,
      path: visit.path,
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

  const changeOf =
    (turn: Turn): Call['change'] =>
    async (of, work) => {
      const { made, ...written } = await store.change(async em => {
        const made = await work(em)
        if (turn.decision) return { made, resource: turn.resource, decision: turn.decision }
        const resource = typeof of === 'function' ? of(made) : of
        const status = turn.route.answer === 'waits' ? null : turn.route.status
        const decision = await tell(decide({ ...turn, resource }, status, null), em)
        if (turn.claim) await repeats.note(turn.claim, resource, em)
        return { made, resource, decision }
      })
      Object.assign(turn, written) // only once it is on the disk
      return made
    }

  async function close(turn: Turn, { status, reason, answer }: Outcome): Promise<void> {
    const { decision, claim, resource } = turn
    const isTold = decision ? decision.status === status : isRead(turn) && !isDenial(status, reason)
    const isKept = claim === null || claim.past !== null || isPassing(status)
    if (isKept && (isTold || sinks().length === 0)) return
    turn.decision = await store.change(async em => {
      if (!isKept)
        await repeats.keep(
          claim,
          { resource, status, answer: reason === null ? secretless(turn, answer) : answer },
          em
        )
      if (isTold) return decision
      if (!decision) return tell(decide(turn, status, reason), em)
      for (const sink of sinks()) await sink.complete(decision.id, status, reason, em)
      return { ...decision, status, reason }
    })
  }

  return { changeOf, close }
}

const isDenial = (status: number | null, reason: string | null): boolean =>
  status === 401 || status === 403 || status === 429 || reason === bootstrapRequired.code

/** What may turn out otherwise when it is asked again: no answer to keep. */
const isPassing = (status: number): boolean =>
  status === 401 || status === 403 || status === 429 || status >= 500

const secretless = ({ route }: Turn, answer: string): string | null =>
  route.reply === 'secret' ? null : answer
