import type { AgentCall, AgentPlugin, AgentScope } from '../../agent/plugin.ts'
import { Refused, respond } from '../../kernel/wire/message.ts'
import { type Explain, openExplain } from './explain.ts'
import { Ask, capability, maxProbesOfAgent, messages } from './wire.ts'

interface State {
  readonly explain: Explain
  probes: number // running now
}

/** By call context: a process may hold several agents. */
const states = new WeakMap<AgentCall, State>()

export default {
  name: 'explain',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  handlers: [
    respond(Ask, async (call: AgentCall, question) => {
      const state = states.get(call)
      if (!state) throw new Refused('not_started', 'the plugin explain has not started yet')
      if (question.probe === 'none' && !question.test_byte) return state.explain(question)
      if (state.probes >= maxProbesOfAgent)
        throw new Refused('too_many_probes', `${state.probes} probes are running on this client; try again`)
      state.probes++
      try {
        return await state.explain(question)
      } finally {
        state.probes--
      }
    })
  ],
  async start(scope: AgentScope) {
    const { call, defer } = scope
    const { explain, follow } = openExplain(scope)
    states.set(call, { explain, probes: 0 })
    defer(() => void states.delete(call))
    defer(call.clock.every(5_000, follow))
  }
} satisfies AgentPlugin
