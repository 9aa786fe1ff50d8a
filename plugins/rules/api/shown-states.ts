// States that fields give to rules, such as expired. They decide what records show, and which rules hold their port.
import type { EntityManager } from '@mikro-orm/sql'
import type { SlotReader } from '../../../kernel/slot.ts'
import { isInForce } from '../delivery/rule-states.ts'
import type { Rule } from '../entities.ts'
import type { RuleOwnership } from '../fields/rule-field.ts'
import { type ShownState, shownStateSlot } from '../slots.ts'

export interface Shown extends Pick<ShownState, 'state' | 'port'> {
  readonly reason: string
}

type StoredState = RuleOwnership & Pick<Rule, 'id' | 'state'>

/** A field that has ended a rule wins over a pause, and a pause over a field that will open the rule again. */
const isShown = ({ state }: Pick<Rule, 'state'>, shown: Shown | undefined): shown is Shown =>
  shown !== undefined && (state === 'active' || shown.port === 'free')

/** Returns the states that fields give to the rules, by id. A state that frees the port wins over one that reserves it. */
export async function shownStates(
  filled: SlotReader,
  rules: readonly StoredState[],
  em: EntityManager
): Promise<ReadonlyMap<string, Shown>> {
  const inForce = rules.filter(isInForce)
  const found = new Map<string, Shown>()
  for (const { value } of filled(shownStateSlot)) {
    const { state, port } = value
    for (const [id, reason] of await value.load(inForce, em))
      if (found.get(id)?.port !== 'free') found.set(id, { state, port, reason })
  }
  return found
}

/** Why a rule is not as it was requested. */
export interface Reasons {
  readonly closed: string | null // why its agent has closed it
  readonly pending: string | undefined // why its change waits
}

/** Returns state and reason for a record. */
export function toShownState(
  rule: Pick<Rule, 'state' | 'stateReason'>,
  shown: Shown | undefined,
  { closed, pending }: Reasons
): { state: string; state_reason: string | null } {
  const { state, stateReason } = rule
  if (isShown(rule, shown)) return { state: shown.state, state_reason: shown.reason }
  return {
    state,
    state_reason: stateReason ?? pending ?? (state === 'active' ? closed : state === 'paused' ? state : null)
  }
}

/** Returns the rules with the states that records show. */
export async function withShownStates<R extends StoredState>(
  filled: SlotReader,
  rules: readonly R[],
  em: EntityManager
): Promise<(Omit<R, 'state'> & { readonly state: string })[]> {
  const found = await shownStates(filled, rules, em)
  return rules.map(rule => {
    const shown = found.get(rule.id)
    return { ...rule, state: isShown(rule, shown) ? shown.state : rule.state }
  })
}
