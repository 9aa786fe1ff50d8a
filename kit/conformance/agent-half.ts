import { type AgentPlugin, capabilitiesOf } from '../../agent/plugin.ts'
import { checkPlugins } from '../../agent/plugins/check-plugins.ts'
import { targetFieldKey } from '../../agent/wire/target-field.ts'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Capability } from '../../kernel/wire/message.ts'

interface Field {
  readonly key: string
  readonly requires: { readonly capability: Capability }
}

/** Returns a target field as the agent half names it. */
export const targetPart = ({ key, requires }: Field): Field => ({ key: targetFieldKey(key), requires })

/** Reports fields without an agent half: every agent would refuse their rules. */
export function fieldProblems(fields: readonly Field[], agent: AgentPlugin | null): string[] {
  return fields.flatMap(({ key, requires }) => {
    if (!agent) return [`field ${key}: there is no agent half that plans it`]
    const { id } = requires.capability
    const problems: string[] = []
    if (!agent.fields?.some(field => field.key === key)) problems.push('the agent half has none')
    if (!(id in capabilitiesOf(agent))) problems.push(`the agent half does not announce ${id}`)
    return problems.map(problem => `field ${key}: ${problem}`)
  })
}

/** Checks an agent half beside others. `server` is the name of the server half. */
export function agentProblems(server: string, agent: AgentPlugin, others: readonly AgentPlugin[]): string[] {
  const problems: string[] = []
  if (agent.name !== server) problems.push(`the agent half is named ${agent.name}, the server half ${server}`)
  try {
    checkPlugins([...others, agent])
  } catch (error) {
    problems.push(reasonOf(error))
  }
  return problems
}
