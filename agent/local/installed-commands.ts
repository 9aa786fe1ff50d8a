// Commands that agent halves add to the command line. They run in the agent.
import { systemClock } from '../../kernel/base/clock.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Command, defineCommand } from '../../kernel/cli/command.ts'
import { type ConfigSources, readAgentConfig } from '../config.ts'
import type { AgentCommand } from '../plugin.ts'
import { loadAgentPlugins } from '../plugins/load-agent-plugins.ts'
import { askAgent } from './ask-agent.ts'
import { runningArgs, stateDirOf } from './running-args.ts'

/** Loads the agent halves as `agent run` does. Throws Fault. */
export async function installedCommands({ file, env }: ConfigSources): Promise<readonly Command[]> {
  const { plugins } = await loadAgentPlugins(readAgentConfig({ file, env }), file)
  return plugins.flatMap(({ commands = [] }) => commands.map(commandOf))
}

const commandOf = ({ name, summary, args = Type.Object({}), positional = [] }: AgentCommand): Command =>
  defineCommand({
    name: `agent ${name}`,
    summary,
    args: Type.Object({ ...args.properties, ...runningArgs }),
    positional,
    needs: 'nothing',
    async run({ args: given, env, print }) {
      const own = Object.fromEntries(Object.entries(given).filter(([key]) => key in args.properties))
      print.data(await askAgent(stateDirOf(given, env), { command: name, args: own }, systemClock))
    }
  })
