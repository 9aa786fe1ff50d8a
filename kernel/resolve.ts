import { Fault, startupInvalid } from './base/errors.ts'
import { satisfies } from './base/version.ts'

interface Node {
  readonly name: string
  readonly version: string
  readonly needs?: Readonly<Record<string, string>>
}

/** Dependencies first; ties by name, so that two runs never differ. */
export function inOrder<P extends Node>(plugins: readonly P[]): P[] {
  const byName = new Map(plugins.map(plugin => [plugin.name, plugin]))
  const done = new Set<P>()
  const path: string[] = []

  function visit(plugin: P): void {
    if (done.has(plugin)) return
    const start = path.indexOf(plugin.name)
    if (start >= 0) refuse(`plugins need each other: ${[...path.slice(start), plugin.name].join(' -> ')}`)

    path.push(plugin.name)
    for (const [name, range] of Object.entries(plugin.needs ?? {}).sort()) {
      const found = byName.get(name) ?? refuse(`${plugin.name} needs ${name}, which is not loaded`)
      if (!satisfies(found.version, range))
        refuse(`${plugin.name} needs ${name} ${range}, found ${found.version}`)
      visit(found)
    }
    path.pop()
    done.add(plugin)
  }

  for (const plugin of plugins.toSorted((a, b) => (a.name < b.name ? -1 : 1))) visit(plugin)
  return [...done]
}

function refuse(problem: string): never {
  throw new Fault(startupInvalid, problem)
}
