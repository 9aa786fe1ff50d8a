import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Whom = 'server' | 'agent'

/** Neither Node's nor a library's: what is installed as a package is ours where it has a plugin, as sluice itself has. */
export function isOurs(url: string): boolean {
  if (!url.startsWith('file:')) return false
  return !url.includes('/node_modules/') || './plugin' in manifestOf(dirname(fileURLToPath(url))).exports
}

/** The plugin that a script is of: a built-in one by its folder, another by its package, or by its folder. */
export function ownerOfScript(url: string, whom: Whom): string {
  if (!url.startsWith('file:')) return `the ${whom}`
  const file = fileURLToPath(url)
  const { name } = manifestOf(dirname(file))
  if (name !== null && name !== 'sluice') return name
  const [, builtin] = /\/plugins\/([^/]+)\//.exec(file) ?? []
  return builtin ?? (/\/(kernel|config|agent)\//.test(file) ? `the ${whom}` : basename(dirname(file)))
}

/** Whose code is nearest to where an error was thrown; the program's own is passed over. */
export function ownerOfStack(stack: string, whom: Whom): string {
  const scripts = stack.match(/file:\/\/[^\n)]+?(?=:\d+:\d+)/g) ?? []
  const owners = scripts.filter(isOurs).map(script => ownerOfScript(script, whom))
  return owners.find(owner => owner !== `the ${whom}`) ?? `the ${whom}`
}

interface Manifest {
  readonly name: string | null
  readonly exports: object
}

function manifestOf(dir: string): Manifest {
  const file = join(dir, 'package.json')
  if (!existsSync(file)) return dir === dirname(dir) ? { name: null, exports: {} } : manifestOf(dirname(dir))
  const { name = basename(dir), exports } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Manifest>
  return { name, exports: Object(exports) }
}
