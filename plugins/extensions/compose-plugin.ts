// Composes the files of a new plugin that depend on all of its kinds: manifests of both halves, README and package.json.
import type { Part, PartOfHalf } from './scaffold-parts.ts'

/** Returns the text of each file by its path. */
export function composePlugin(given: readonly Part[]): Record<string, string> {
  const server = given.flatMap(part => part.server ?? [])
  const agent = given.flatMap(part => part.agent ?? [])
  return {
    ...(server.length > 0 && { 'plugin.ts': pluginText(server) }),
    ...(agent.length > 0 && { 'agent.ts': agentText(agent) }),
    'README.md': readmeText(given),
    'package.json': packageText(given)
  }
}

function pluginText(halves: readonly PartOfHalf[]): string {
  const deps = halves.flatMap(({ deps = [] }) => deps)
  const needs = [...new Set(halves.flatMap(({ needs = [] }) => needs))]
  const members = {
    name: "'__name__'",
    version: "'1.0.0'",
    kernel: "'^2.0.0'",
    ...(needs.length > 0 && { needs: `{ ${needs.map(name => `${name}: '^1.0.0'`).join(', ')} }` }),
    ...membersOf(halves)
  }
  const generic = deps.length > 0 ? `<${deps.join(' & ')}>` : ''
  return `// The server half. Importing it has no side effects.
import { definePlugin } from 'sluice/plugin'
${importsOf(halves)}
export default definePlugin${generic}(${objectText(members)})
`
}

const agentText = (
  halves: readonly PartOfHalf[]
): string => `// The agent half. Importing it has no side effects.
import type { AgentPlugin } from 'sluice/agent-plugin'
${importsOf(halves)}
export default ${objectText({ name: "'__name__'", agent: "'^1.5.0'", ...membersOf(halves) })} satisfies AgentPlugin
`

/** Members in the order of the guide. */
const order = ['prefix', 'config', 'codes', 'store', 'fills', 'routes', 'commands', 'fields', 'metrics']

function membersOf(halves: readonly PartOfHalf[]): Record<string, string> {
  const members = halves.flatMap(half => Object.entries(half.members))
  return Object.fromEntries(
    order.flatMap(key => {
      const values = members.flatMap(([name, value]) => (name === key ? [value] : []))
      const [first] = values
      if (first === undefined) return []
      return [[key, typeof first === 'string' ? first : `[${values.flat().join(', ')}]`]]
    })
  )
}

function importsOf(halves: readonly PartOfHalf[]): string {
  const imports = halves.flatMap(({ imports, deps }) =>
    Object.entries(imports).map(([file, names], i) => ({
      file,
      names: deps !== undefined && i === 0 ? [`type ${deps}`, ...names] : names
    }))
  )
  return imports
    .sort((a, b) => (a.file < b.file ? -1 : 1))
    .map(({ file, names }) => `import { ${names.join(', ')} } from './${file}.ts'\n`)
    .join('')
}

function objectText(members: Readonly<Record<string, string>>): string {
  const lines = Object.entries(members).map(([key, value]) => `  ${key === value ? key : `${key}: ${value}`}`)
  return `{\n${lines.join(',\n')}\n}`
}

function readmeText(given: readonly Part[]): string {
  const table = (head: string, rows: readonly string[], none: string): string =>
    rows.length > 0 ? `${head}\n${head.replaceAll(/[^|]+/g, '---')}\n${rows.join('\n')}` : none
  const halves = [
    ...(given.some(({ server }) => server) ? ['the server'] : []),
    ...(given.some(({ agent }) => agent) ? ['each agent'] : [])
  ]
  const texts = (key: 'metrics' | 'wire'): string =>
    given.flatMap(part => part[key] ?? []).join('\n\n') || 'None.'
  const example = given.flatMap(part => part.example ?? [])
  const enable = `To enable the plugin, add its section to the configuration of ${halves.join(' and of ')}: see Example.`
  return `# __name__

## Name
\`__name__\`: ${given.map(({ purpose }) => purpose).join('; ')}.

## What it adds
${table(
  '| Where | What |',
  given.flatMap(({ adds }) => adds),
  ''
)}

## Config
${enable}

${table(
  '| Of | Key | Default | Meaning |',
  given.flatMap(({ config = [] }) => config),
  'No settings.'
)}

## Errors
${table(
  '| HTTP | Code | When |',
  given.flatMap(({ errors = [] }) => errors),
  'None.'
)}

## Metrics
${texts('metrics')}

## Wire
${texts('wire')}

## Example
\`\`\`toml
${['[plugins."./__name__"]', ...example].join('\n')}
\`\`\`
`
}

function packageText(given: readonly Part[]): string {
  const halves = [
    ...(given.some(({ server }) => server) ? ['plugin'] : []),
    ...(given.some(({ agent }) => agent) ? ['agent'] : [])
  ]
  const assets = given.flatMap(part => part.assets ?? [])
  const sluice = '^__sluice__'
  const manifest = {
    name: 'sluice-__name__',
    version: '1.0.0',
    type: 'module',
    description: 'A plugin for sluice.',
    exports: Object.fromEntries(halves.map(half => [`./${half}`, `./dist/${half}.js`])),
    files: ['dist', 'README.md'],
    scripts: {
      test: 'sluice plugin check . && node --test',
      build: assets.length > 0 ? `tsc && cp -r ${assets.join(' ')} dist/` : 'tsc'
    },
    peerDependencies: { sluice },
    devDependencies: { sluice, typescript: '^7.0.2', '@types/node': '^24.0.0' }
  }
  return `${JSON.stringify(manifest, null, 2)}\n`
}
