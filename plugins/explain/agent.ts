import type { AgentCall, AgentPlugin, AgentScope } from '../../agent/plugin.ts'
import { Refused, respond } from '../../kernel/wire/message.ts'
import { type Explain, openExplain } from './explain.ts'
import { Ask, capability, maxProbesOfAgent, messages } from './wire.ts'

interface State {
  readonly explain: Explain
  readonly probes: Map<string, number> // running now, by owner of the rule
}

/** By call context: a process may hold several agents. */
const states = new WeakMap<AgentCall, State>()

export default {
  name: 'explain',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  handlers: [
    {
      ...respond(Ask, async (call: AgentCall, question) => {
        const state = states.get(call)
        if (!state) throw new Refused('not_started', 'the plugin explain has not started yet')
        if (question.probe === 'none' && !question.test_byte) return state.explain(question)
        const owner = call.paths.find(question.rule_id)?.spec.owner ?? ''
        return runProbe(state.probes, owner, () => state.explain(question))
      }),
      isConcurrent: true // a probe takes seconds, and must not delay changes
    }
  ],
  async start(scope: AgentScope) {
    const { call, defer } = scope
    const { explain, follow } = openExplain(scope)
    states.set(call, { explain, probes: new Map() })
    defer(() => void states.delete(call))
    defer(call.clock.every(5_000, follow))
  }
} satisfies AgentPlugin

/** Runs a probe. Beyond the limit, an owner without a running probe may still run one. */
async function runProbe<T>(probes: State['probes'], owner: string, probe: () => Promise<T>): Promise<T> {
  const running = probes.values().reduce((sum, count) => sum + count, 0)
  const own = probes.get(owner) ?? 0
  if (running >= maxProbesOfAgent && own > 0)
    throw new Refused('too_many_probes', `${running} probes are running on this client; try again`)
  probes.set(owner, own + 1)
  try {
    return await probe()
  } finally {
    const left = (probes.get(owner) ?? 1) - 1
    if (left > 0) probes.set(owner, left)
    else probes.delete(owner)
  }
}
