import { Fault, pluginFailed } from '../../kernel/base/errors.ts'
import { unmetNeed } from '../../kernel/base/version-range.ts'
import { objectHandlers } from '../objects/object-handlers.ts'
import { type AgentPlugin, capabilitiesOf, messagesOf } from '../plugin.ts'

/** The version of the contract in agent/plugin.ts. */
const contractVersion = '1.7.0'

type NamesOf = (plugin: AgentPlugin) => readonly string[]

/** Names that must be unique among all plugins. */
const unique: Readonly<Record<string, NamesOf>> = {
  plugin: ({ name }) => [name],
  message: plugin => messagesOf(plugin).map(({ name }) => name),
  handler: ({ handlers = [], kinds = [] }) =>
    [...handlers, ...kinds.flatMap(objectHandlers)].map(({ name }) => name),
  field: ({ fields = [] }) => fields.map(({ key }) => key),
  kind: ({ kinds = [] }) => kinds.map(({ kind }) => kind),
  command: ({ commands = [] }) => commands.map(({ name }) => name),
  capability: plugin => Object.keys(capabilitiesOf(plugin))
}

/** Checks the plugins of an agent together. Throws one Fault with all problems. */
export function checkPlugins(plugins: readonly AgentPlugin[]): void {
  const incompatible = plugins.flatMap(({ name: by, agent: range }) =>
    unmetNeed({ by, what: 'sluice with agent', range, found: contractVersion })
  )
  const duplicated = Object.entries(unique).flatMap(([what, namesOf]) => duplicates(what, namesOf, plugins))
  const problems = [...incompatible, ...duplicated, ...plugins.flatMap(commandProblems)]
  if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
}

/** Commands and options of the command line itself. */
const ownCommands = ['run', 'enroll', 'status']
const ownOptions = ['config', 'state_dir', 'output', 'help', 'version']

function commandProblems({ name: by, commands = [] }: AgentPlugin): string[] {
  return commands.flatMap(({ name, args, positional = [] }) => {
    const known = Object.keys(args?.properties ?? {})
    const taken = known.filter(key => ownOptions.includes(key))
    const absent = positional.filter(key => !known.includes(key))
    return [
      ...(/^[a-z][a-z0-9-]*$/.test(name)
        ? []
        : [`command "${name}" of ${by} must be one word of a-z, 0-9 and -`]),
      ...(ownCommands.includes(name)
        ? [`command ${name} of ${by} is a command of sluice agent itself: rename it`]
        : []),
      ...taken.map(
        key => `argument ${key} of command ${name} of ${by} is reserved for every command: rename it`
      ),
      ...absent.map(key => `argument ${key} of command ${name} of ${by} is positional, but not in args`)
    ]
  })
}

function duplicates(what: string, namesOf: NamesOf, plugins: readonly AgentPlugin[]): string[] {
  const named = plugins.flatMap(plugin => namesOf(plugin).map(name => ({ name, owner: plugin.name })))
  return [...Map.groupBy(named, ({ name }) => name)]
    .filter(([, found]) => found.length > 1)
    .map(([name, found]) => `${what} ${name} is in ${found.map(({ owner }) => owner).join(' and ')}`)
}
