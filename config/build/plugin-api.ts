// Generates docs/PLUGIN-API.md from the sources: every name that plugins can import.
import { join } from 'node:path'
import { type Declaration, type Exported, exportsOf, resolveName } from './declarations.ts'

const root = join(import.meta.dirname, '..', '..')

const entries = {
  'sluice/plugin': 'plugins/public.ts',
  'sluice/agent-plugin': 'agent/public.ts',
  'sluice/kit': 'kit/public.ts'
}

const intro = `# What plugins can import

\`plugins/README.md\` is the guide; \`sluice plugin reference\` has routes, commands, settings, tables, slots and error codes. Names that are not on this page may change from one release to the
next. Types that a declaration uses and that cannot be imported by name are at the end.
`

/** Returns the text of docs/PLUGIN-API.md. */
export function pluginApi(): string {
  const shown = new Set<Declaration>()
  const chapters = Object.entries(entries).map(([name, file]) => {
    const found = exportsOf(join(root, file))
    const above = found.flatMap(one => ('of' in one && shown.has(one.of) ? [one.as] : []))
    return [
      `## \`${name}\``,
      ...packagesOf(found),
      ...(above.length === 0 ? [] : [`Declared above: ${listOf(above)}.`]),
      ...found.flatMap(one => sectionsOf(one, '', shown))
    ]
  })
  const further: string[] = []
  for (const declaration of shown) // the loop adds to it
    for (const used of usedBy(declaration))
      if (!shown.has(used)) {
        shown.add(used)
        further.push(sectionOf(used, used.name))
      }
  return [intro.trimEnd(), ...chapters.flat(), '## Further types', ...further.sort()]
    .join('\n\n')
    .concat('\n')
}

function packagesOf(found: readonly Exported[]): string[] {
  const names = found.flatMap(one => ('from' in one ? [one] : []))
  return [...Map.groupBy(names, ({ from }) => from)].map(
    ([from, list]) => `Of \`${from}\`: ${listOf(list.map(({ as }) => as))}.`
  )
}

const listOf = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(', ')

function sectionsOf(found: Exported, prefix: string, shown: Set<Declaration>): string[] {
  if ('members' in found) return found.members.flatMap(member => sectionsOf(member, `${found.as}.`, shown))
  if ('from' in found || shown.has(found.of)) return []
  shown.add(found.of)
  return [sectionOf(found.of, prefix + found.as)]
}

const sectionOf = ({ comment, code }: Declaration, title: string): string =>
  [`### ${title}`, ...(comment === '' ? [] : [comment]), `\`\`\`ts\n${code}\n\`\`\``].join('\n\n')

/** Returns the declarations of the types that this one mentions. */
function usedBy({ file, code }: Declaration): Declaration[] {
  const text = code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'[^']*'/g, '')
  const names = new Set([...text.matchAll(/(?<![.\w])[A-Z]\w+|(?<=\btypeof )\w+/g)].map(([name]) => name))
  const found = [...names].map(name => resolveName({ file, name }))
  return found.filter(used => used !== null && typeof used !== 'string')
}
