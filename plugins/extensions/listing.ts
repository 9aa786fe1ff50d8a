// The columns of `plugin list`.
import type { Column } from '../../kernel/cli/command.ts'
import type { Described } from './described.ts'

const pairs = (of: Readonly<Record<string, string>>): string =>
  Object.entries(of)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ')

const count =
  (of: (plugin: Described) => readonly string[]) =>
  (plugin: Described): string =>
    String(of(plugin).length)

/** Columns of the list, one plugin on each line. */
export const overview: readonly Column<Described>[] = [
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

const yesOrNo = (is: boolean | undefined): string => (is === undefined ? '-' : is ? 'yes' : 'no')

/** Rows for one plugin in full. */
export const details: readonly Column<Described>[] = [
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
