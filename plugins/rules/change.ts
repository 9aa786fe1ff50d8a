// A change of a rule, from the request to the client's answer. PUT, PATCH, pause and resume are kinds of it.
import { Fault } from '../../kernel/base/errors.ts'
import type { FieldChange } from '../../kernel/http/route.ts'
import { defaultAckSecs, removedMeanwhile, requireApplied } from './answer.ts'
import { type ChangeKind, changeRule, type Stored, type Wanted } from './changing.ts'
import { type Existing, Rule } from './entities.ts'
import type { ChangeBy } from './fields.ts'
import { missingPart } from './requirements.ts'
import { resourceOf } from './resource.ts'
import { objectKeyOf } from './rule-states.ts'
import type { Change, Services } from './services.ts'
import { ruleNotFound } from './slots.ts'

export interface Operation {
  readonly kind: ChangeKind
  readonly existing?: Existing | undefined // default: keep
  readonly ackSecs?: number | undefined
  /** Throws what is wrong with the request for every rule: it is reported before that there is no such rule. */
  refuse?(): void
  /** Returns what the rule is to be. */
  wanted(stored: Stored, by: ChangeBy): Wanted | Promise<Wanted>
}

export const openChange =
  (services: Services) =>
  async (id: string, operation: Operation, { principal, change }: Change) => {
    const { control, store, filled, reading } = services
    const { ackSecs = defaultAckSecs } = operation
    let changes: readonly FieldChange[] = []
    const resource = { ...resourceOf(id, filled), changes: () => changes }
    const { clientId, isAwaited, afterCommit } = await change(resource, async em => {
      const stored = await find(services, id, operation, { principal, em })
      const wanted = await operation.wanted(stored, { principal, em })
      const { kind, existing = 'keep' } = operation
      const changed = await changeRule(services, stored, wanted, { kind, existing, principal, em })
      changes = changed.changes
      return { ...changed, clientId: stored.rule.clientId }
    })
    afterCommit()
    const isAnswered = isAwaited && control.peers.find(clientId) !== undefined
    if (!isAnswered) control.objects.wake(clientId)
    const object = objectKeyOf({ clientId, id })
    const result = isAnswered ? await control.objects.deliver(object, 'push', ackSecs) : null
    const rule = await store.read(em => em.findOne(Rule, { id }))
    if (!rule || result?.status === 'removed') throw removedMeanwhile(id)
    const whenRefused = rule.state === 'failed' ? ({ rule_state: 'failed' } as const) : undefined
    if (isAnswered) requireApplied(result, id, ackSecs, whenRefused)
    return reading.read(id, principal)
  }

async function find(
  { filled, fields, reading }: Services,
  id: string,
  operation: Operation,
  { principal, em }: ChangeBy
): Promise<Stored> {
  const rule = await reading.find(id, principal, em).catch(refusal => {
    operation.refuse?.()
    throw refusal
  })
  const missing = missingPart(filled, rule)
  if (rule.state === 'draining') throw new Fault(ruleNotFound, `rule ${id} is being removed`)
  if (missing) throw missing // its value would be lost
  return { rule, values: (await fields.load([rule], em)).get(id) ?? {} }
}
