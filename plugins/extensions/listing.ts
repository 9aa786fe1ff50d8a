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
  'slots',
  'fills',
  'fields',
  ['capabilities', ({ capabilities }) => pairs(capabilities)],
  'may'
]
