// How `plugin list` shows them: all in a line each, or one whole.
import type { Column } from '../../kernel/cli/command.ts'
import type { Picked } from './catalogue.ts'
import { type Described, describe } from './described.ts'

export const described = ({ servers, agents, fromOf, name }: Picked): Described =>
  describe(
    {
      server: servers.find(plugin => plugin.name === name) ?? null,
      agent: agents.find(plugin => plugin.name === name) ?? null
    },
    fromOf(name)
  )

const pairs = (of: Readonly<Record<string, string>>): string =>
  Object.entries(of)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ')

const count =
  (of: (plugin: Described) => readonly string[]) =>
  (plugin: Described): string =>
    String(of(plugin).length)

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

export const whole: readonly Column<Described>[] = [
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
