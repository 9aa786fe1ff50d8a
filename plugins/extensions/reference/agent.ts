import { Type } from 'typebox'
import type { AgentPlugin } from '../../../agent/plugin.ts'
import type { PluginDescription } from '../describe-plugin.ts'
import { commandChapter } from './commands.ts'
import { type Chapter, code, codes, table } from './markdown.ts'
import { sectionText } from './sections.ts'

/** Returns the chapter about the agent half, or an empty chapter if the plugin has none. */
export function agentChapter(described: PluginDescription, agent: AgentPlugin | undefined): Chapter {
  if (!agent) return { title: '', text: '' }
  const { commands = [] } = agent
  return {
    title: 'Agent half',
    text: describeAgentHalf(described),
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

function describeAgentHalf({ name, agent }: PluginDescription): string {
  const prefix = `svc_agent_${name.replaceAll('-', '_')}_`
  return [
    ['Managed objects', codes(agent?.kinds ?? [])],
    ['Rule shapes', codes(agent?.shapes ?? [])],
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
  'With `plan` a field can use filters, balance, preamble, idle time and records of ended connections, without a declaration.'

function fieldsText({ fields = [] }: AgentPlugin): string {
  const hooks = ['plan', 'setMeters', 'opened', 'changed', 'gone'] as const
  const rows = fields.map(field => [code(field.key), codes(hooks.filter(hook => field[hook]))])
  return rows.length === 0 ? '' : `${table(['Field', 'Hooks'], rows)}\n\n${primitives}`
}
