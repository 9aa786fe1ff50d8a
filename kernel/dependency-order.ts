import { throwProblems } from './base/config.ts'
import type { Plugin } from './plugin.ts'

/** Orders dependencies first, then by name. All dependencies must exist: see `pluginProblems`. */
export function inDependencyOrder<P extends Pick<Plugin, 'name' | 'needs'>>(plugins: readonly P[]): P[] {
  const byName = new Map(plugins.map(plugin => [plugin.name, plugin]))
  const done = new Set<P>()
  const path: string[] = []

  function visit(plugin: P): void {
    if (done.has(plugin)) return
    const start = path.indexOf(plugin.name)
    if (start >= 0)
      throwProblems([`plugins need each other: ${[...path.slice(start), plugin.name].join(' -> ')}`])

    path.push(plugin.name)
    for (const name of Object.keys(plugin.needs ?? {}).sort()) {
      const needed = byName.get(name)
      if (needed) visit(needed)
    }
    path.pop()
    done.add(plugin)
  }

  for (const plugin of plugins.toSorted((a, b) => (a.name < b.name ? -1 : 1))) visit(plugin)
  return [...done]
}
