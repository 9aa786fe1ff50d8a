// A rule is held until its derived objects are acknowledged: its client keeps the rule that it has.
import type { EntityManager } from '@mikro-orm/sql'
import type { ApplyResult, Delivery } from '../../../kernel/control/managed-objects.ts'
import { ruleEtag } from '../api/rule-resource.ts'
import { activationFailed } from '../codes.ts'
import { objectKeyOf } from '../delivery/rule-states.ts'
import { Rule } from '../entities.ts'
import type { Services } from '../services.ts'

/** The answer to a rule. `clientId`: a client of a derived object gave it. */
export type RuleAnswer = ApplyResult & { readonly clientId?: string }

export interface RuleDelivery {
  answered(timeoutSecs: number): Promise<RuleAnswer | null>
}

interface AwaitedPart {
  readonly clientId: string
  readonly delivery: Delivery
}

/** A rule as the change has written it. */
interface WrittenRule extends Pick<Rule, 'id' | 'clientId' | 'updatedAt'> {
  readonly etag: string
}

type Waiting = Pick<Services, 'clock' | 'control' | 'store' | 'fields' | 'filled'>

/** Call it in the change, after the rule was written. */
export async function openHeldDelivery(
  services: Waiting,
  { id }: Pick<Rule, 'id'>,
  parts: readonly AwaitedPart[],
  em: EntityManager
): Promise<RuleDelivery> {
  const { clock } = services
  const rule = await em.findOneOrFail(Rule, { id })
  const written = { ...rule, etag: await etagOf(services, rule, em) }
  return {
    async answered(timeoutSecs) {
      const from = clock.monotonic()
      const answers = await Promise.all(
        parts.map(async ({ clientId, delivery }) => ({
          clientId,
          result: await delivery.answered(timeoutSecs)
        }))
      )
      const refusal = answers.find(({ result }) => result?.status === 'refused')
      if (refusal?.result) return { ...refusal.result, clientId: refusal.clientId }
      if (answers.some(({ result }) => result?.status !== 'applied')) return null
      const remaining = timeoutSecs - (clock.monotonic() - from) / 1000 // the time limit is for all clients
      return remaining <= 0 ? null : answerOf(services, written, remaining)
    }
  }
}

const etagOf = async ({ fields, filled }: Waiting, rule: Rule, em: EntityManager): Promise<string> =>
  ruleEtag(rule, (await fields.load([rule], em)).get(rule.id) ?? {}, filled)

/** The last acknowledgement has sent the rule, at this server or at another. */
async function answerOf(
  services: Waiting,
  written: WrittenRule,
  timeoutSecs: number
): Promise<RuleAnswer | null> {
  const { control, store } = services
  const delivery = await store.change(async em =>
    (await settledAnswer(services, written, em)) === 'pending'
      ? control.objects.deliver(em, objectKeyOf(written), 'push')
      : null
  )
  const settled = await store.read(em => settledAnswer(services, written, em)) // the result may have come before the delivery
  return settled === 'pending' ? ((await delivery?.answered(timeoutSecs)) ?? null) : settled
}

/** Returns what the store says about the change, or 'pending'. */
async function settledAnswer(
  services: Waiting,
  { id, etag, updatedAt }: WrittenRule,
  em: EntityManager
): Promise<RuleAnswer | 'pending'> {
  const rule = await em.findOne(Rule, { id })
  if (!rule) return { status: 'removed' }
  if (rule.state === 'pending' || rule.existing != null) return 'pending'
  const isReplaced = rule.updatedAt > updatedAt // by a later change
  const isUndone = !isReplaced && (await etagOf(services, rule, em)) !== etag
  if (rule.state !== 'failed' && !isUndone) return { status: 'applied' }
  const code = rule.stateReason ?? activationFailed.code
  return { status: 'refused', code, message: `the client refused the rule: ${code}` }
}
