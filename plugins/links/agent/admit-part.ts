import type { AgentCall } from '../../../agent/plugin.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import type { ExitPart } from '../wire.ts'

/** Throws Refused if the configuration of this agent forbids its part of the rule. */
export function admitPart(
  { entry_id, entry_name, targets, ports }: ExitPart,
  { exits, host }: Pick<AgentCall, 'exits' | 'host'>
): void {
  if (!exits.allows(entry_id, entry_name))
    throw new Refused('denied_by_exit', 'allow_exit or exit_entries of this agent exclude the entry')
  for (const { host: name, port = 0, next } of targets)
    if (name !== undefined && next === undefined && !host.mayReach(name, port, port + ports - 1))
      throw new Refused('denied_by_exit', `the guardrails of this agent do not allow the target ${name}`)
}
