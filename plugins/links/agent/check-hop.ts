// Says without a dial what this agent does with a request for a target, for explanations.
import type { AgentCall } from '../../../agent/plugin.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import type { HopCheck, HopState } from '../wire.ts'
import { admitPart } from './admit-part.ts'
import type { Links } from './links.ts'

export function checkHop(
  { rule_id, key, previous, link_id }: HopCheck,
  links: Pick<Links, 'all' | 'exits'>,
  call: Pick<AgentCall, 'exits' | 'host'>
): HopState {
  const refusal = previous === undefined ? null : refusalOf({ rule_id, key, previous }, links, call)
  const link = links.all.find(({ config }) => config.id === link_id)
  const rtt = link?.meter.roundTrips()?.last
  return {
    ...(refusal !== null && { refusal }),
    ...(link && { state: link.state }),
    ...(link?.state === 'down' && link.reason !== null && { reason: link.reason }),
    is_exhausted: link?.isExhausted ?? false,
    ...(rtt !== undefined && { rtt_ms: rtt })
  }
}

/** Returns why this agent refuses the previous client, or null. */
function refusalOf(
  { rule_id, key, previous }: Required<Pick<HopCheck, 'rule_id' | 'key' | 'previous'>>,
  { exits }: Pick<Links, 'exits'>,
  call: Pick<AgentCall, 'exits' | 'host'>
): string | null {
  const part = exits.part(rule_id)
  const target = part?.targets.find(each => each.key === key && each.previous === previous)
  if (!part || !target) return 'rule_unknown'
  try {
    admitPart({ ...part, targets: [target] }, call)
    return null
  } catch (error) {
    if (error instanceof Refused) return error.code
    throw error
  }
}
