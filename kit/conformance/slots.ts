// Checks the services and slot values that a plugin provides.
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Server } from '../../kernel/kernel.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Slot } from '../../kernel/slot.ts'
import { filledBare } from '../../plugins/cli/program/installed-commands.ts'

/** Reads the plugin's values like commands do, which have no services. */
export function commandProblems(plugins: readonly Plugin[], plugin: Plugin): string[] {
  const read = new Map<Slot<never>, string>()
  for (const { name, reads = [] } of plugins.flatMap(({ commands }) => commands ?? []))
    for (const slot of reads) read.set(slot, name)
  return slotsFilledBy(plugin).flatMap(slot => {
    const command = read.get(slot)
    if (command === undefined) return []
    try {
      filledBare(slot, [plugin])
      return []
    } catch (error) {
      return [`fills ${slot.id}: sluice ${command} cannot read it: ${reasonOf(error)}`]
    }
  })
}

export interface Made {
  readonly by: string
  readonly slot: Slot<never>
  readonly value: unknown
}

/** Returns the plugins unchanged, except that each value they make for a slot is added to `made`. */
export const recordFills = (plugins: readonly Plugin[], made: Made[]): Plugin[] =>
  plugins.map(plugin => ({
    ...plugin,
    fills: (plugin.fills ?? []).map(fill => ({
      slot: fill.slot,
      make(deps) {
        const value = fill.make(deps)
        made.push({ by: plugin.name, slot: fill.slot, value })
        return value
      }
    }))
  }))

/** Finds undefined services, and values of another kind than the values of other plugins in the same slot. */
export function valueProblems({ depsOf }: Server, plugin: Plugin, made: readonly Made[]): string[] {
  const { name, services, exports } = plugin
  const deps = depsOf(name)
  const emptyOf = (what: string, entries: object | undefined) =>
    Object.keys(entries ?? {})
      .filter(key => Reflect.get(deps, key) === undefined)
      .map(key => `${what}: ${key} is undefined; let its function return a value`)
  const wrong = made
    .filter(({ by }) => by === name)
    .flatMap(({ slot, value }) => {
      const others = made.filter(other => other.slot === slot && other.by !== name)
      const kinds = [...new Set(others.map(({ value }) => typeof value))]
      const isRight =
        value !== undefined && value !== null && (kinds.length === 0 || kinds.includes(typeof value))
      const given = value === null ? 'null' : typeof value
      return isRight ? [] : [`fills ${slot.id}: the value is ${given}; give ${kinds.join(' or ') || 'one'}`]
    })
  return [...emptyOf('services', services), ...emptyOf('exports', exports), ...new Set(wrong)]
}

const slotsFilledBy = ({ fills }: Plugin): Slot<never>[] => [
  ...new Set((fills ?? []).map(({ slot }) => slot))
]
