// The agent half of a plugin: what it adds on the hosts of agents.
import { Type } from 'typebox'
import type { AgentPlugin } from '../../../agent/plugin.ts'
import type { Described } from '../described.ts'
import { commandChapter } from './commands.ts'
import { type Chapter, code, codes, table } from './markdown.ts'
import { sectionText } from './sections.ts'

/** Returns a chapter without content where the plugin has no agent half. */
export function agentChapter(described: Described, agent: AgentPlugin | undefined): Chapter {
  if (!agent) return { title: '', text: '' }
  const { commands = [] } = agent
  return {
    title: 'Agent half',
    text: aboutOf(described),
    parts: [
      {
        title: 'Settings of the agent',
        text: sectionText(described, agent, " of the agent's configuration")
      },
      { title: 'Rule fields on the agent', text: fieldsText(agent) },
      {
        title: 'Commands of the agent',
        text: '',
        parts: commands.map(({ name, summary, args = Type.Object({}), positional }) =>
          commandChapter(
            { name: `agent ${name}`, summary, ...(positional && { positional }) },
            args.properties,
            ' Runs in the agent: `--config FILE` or `--state-dir DIR` of the agent on this host.'
          )
        )
      }
    ]
  }
}

function aboutOf({ name, agent }: Described): string {
  const prefix = `svc_agent_${name.replaceAll('-', '_')}_`
  return [
    ['Objects that it applies', codes(agent?.kinds ?? [])],
    ['Shapes of rules that it supports', codes(agent?.shapes ?? [])],
    [
      'Meters',
      agent?.meters ? 'rules pass meters of this plugin, which limit or count their traffic' : 'none'
    ],
    ['Metrics', agent?.metrics ? `${code(`${prefix}*`)}, on the agent's ${code('/metrics')}` : 'none']
  ]
    .filter(([, value]) => value !== '')
    .map(([what, value]) => `- ${what}: ${value}`)
    .join('\n')
}

const primitives =
  'With `plan` a field may use filters, balance, preamble, idle time and records of ended connections of the engine; they need no declaration.'

function fieldsText({ fields = [] }: AgentPlugin): string {
  const hooks = ['plan', 'setMeters', 'opened', 'changed', 'gone'] as const
  const rows = fields.map(field => [code(field.key), codes(hooks.filter(hook => field[hook]))])
  return rows.length === 0 ? '' : `${table(['Field', 'Hooks'], rows)}\n\n${primitives}`
}
