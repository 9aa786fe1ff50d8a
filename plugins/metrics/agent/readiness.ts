// Readiness checks of an agent: the control stream, or saved rules without it, and open rules.
import { type AgentCall, ruleKind } from '../../../agent/plugin.ts'
import type { Check } from '../wire.ts'

/**
 * An agent that forwards saved rules without the server is ready. One failed rule does not matter, but an agent on which all
 * rules failed is not ready.
 */
export function runChecks(
  { rules, objects }: Pick<AgentCall, 'rules' | 'objects'>,
  isConnected: boolean
): Check[] {
  const open = rules.runningCount()
  const failed = objects.notInForce().filter(({ kind }) => kind === ruleKind).length
  return [
    check('control_stream', isConnected || open > 0, streamReason(isConnected, open)),
    check('rules', open > 0 || failed === 0, `${open} are open, ${failed} could not be opened`)
  ]
}

const check = (name: string, isOk: boolean, reason: string): Check => ({
  name,
  status: isOk ? 'ok' : 'failed',
  reason
})

function streamReason(isConnected: boolean, open: number): string {
  if (isConnected) return 'connected'
  return open > 0
    ? 'not connected; the saved rules are forwarded'
    : 'not connected, and there are no saved rules'
}
