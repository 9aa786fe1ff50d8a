// The columns of `plugin list`.
import type { Column } from '../../kernel/cli/command.ts'
import type { PluginDescription } from './describe-plugin.ts'

const pairs = (record: Readonly<Record<string, string>>): string =>
  Object.entries(record)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ')

const count =
  (of: (plugin: PluginDescription) => readonly string[]) =>
  (plugin: PluginDescription): string =>
    String(of(plugin).length)

/** Columns of the list, with one plugin per line. */
export const overview: readonly Column<PluginDescription>[] = [
  'name',
  'version',
  'from',
  ['needs', ({ needs }) => Object.keys(needs).join(' ')],
  ['routes', count(({ routes }) => routes)],
  ['tables', count(({ tables }) => tables)],
  ['slots', count(({ slots }) => slots)],
  ['capabilities', ({ capabilities }) => Object.keys(capabilities).join(' ')],
  'may'
]

const yesOrNo = (value: boolean | undefined): string => (value === undefined ? '-' : value ? 'yes' : 'no')

/** Rows of the full description of one plugin. */
export const details: readonly Column<PluginDescription>[] = [
  'name',
  'version',
  'from',
  ['written for', ({ contracts }) => pairs(contracts)],
  ['needs', ({ needs }) => pairs(needs)],
  'routes',
  'commands',
  'tables',
  'services',
  'slots',
  'fills',
  'fields',
  ['capabilities', ({ capabilities }) => pairs(capabilities)],
  ['agent settings', ({ agent }) => agent?.settings.join(', ') ?? ''],
  ['agent commands', ({ agent }) => agent?.commands.join(', ') ?? ''],
  ['agent kinds', ({ agent }) => agent?.kinds.join(', ') ?? ''],
  ['agent shapes', ({ agent }) => agent?.shapes.join(', ') ?? ''],
  ['agent meters', ({ agent }) => yesOrNo(agent?.meters)],
  ['agent metrics', ({ agent }) => yesOrNo(agent?.metrics)],
  'may'
]
