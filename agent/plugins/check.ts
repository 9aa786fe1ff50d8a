import { Fault, pluginFailed } from '../../kernel/base/errors.ts'
import { unmetNeed } from '../../kernel/base/version.ts'
import type { AgentPlugin } from '../plugin.ts'

/** Of agent/plugin.ts. */
const contractVersion = '1.0.0'

type Claims = (plugin: AgentPlugin) => readonly string[]

/** What only one plugin may have. */
const single: Readonly<Record<string, Claims>> = {
  plugin: ({ name }) => [name],
  message: ({ messages = [] }) => messages.map(({ name }) => name),
  handler: ({ handlers = [] }) => handlers.map(({ name }) => name),
  field: ({ fields = [] }) => fields.map(({ key }) => key),
  kind: ({ kinds = [] }) => kinds.map(({ kind }) => kind),
  capability: ({ capabilities = {} }) => Object.keys(capabilities)
}

/** Throws all that is wrong with the set. */
export function checkPlugins(plugins: readonly AgentPlugin[]): void {
  const foreign = plugins.flatMap(({ name: by, agent: range }) =>
    unmetNeed({ by, what: 'sluice with agent', range, found: contractVersion })
  )
  const twice = Object.entries(single).flatMap(([what, claims]) => duplicates(what, claims, plugins))
  const problems = [...foreign, ...twice]
  if (problems.length > 0) throw new Fault(pluginFailed, problems.join('\n'))
}

function duplicates(what: string, claims: Claims, plugins: readonly AgentPlugin[]): string[] {
  const owners = Map.groupBy(
    plugins.flatMap(plugin => claims(plugin).map(claim => ({ claim, owner: plugin.name }))),
    ({ claim }) => claim
  )
  return [...owners]
    .filter(([, found]) => found.length > 1)
    .map(([claim, found]) => `${what} ${claim} is in ${found.map(({ owner }) => owner).join(' and ')}`)
}
