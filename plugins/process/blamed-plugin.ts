import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Watched = 'server' | 'agent'

/** The single-file agent. It has a comment before the lines of each module. */
const singleFile = /\/agent\.mjs$/
interface Start {
  readonly line: number // from 1
  readonly module: string
}
const startsOf = new Map<string, readonly Start[]>() // by URL of the file

/** Returns the URL of the module at a line of a script. Libraries bundled into a single file have no file URL. */
export function moduleAt(script: string, line: number): string {
  if (!singleFile.test(script)) return script
  const starts = startsOf.get(script) ?? readStarts(script)
  startsOf.set(script, starts)
  const module = starts.findLast(start => start.line <= line)?.module ?? ''
  return /^(|node_modules\/.*)$/.test(module) ? `library:${module}` : new URL(module, script).href
}

const readStarts = (script: string): Start[] =>
  readFileSync(fileURLToPath(script), 'utf8')
    .split('\n')
    .flatMap((text, at) => {
      const [, module] = /^\/\/ (\S+\.[cm]?[jt]s)$/.exec(text) ?? []
      return module === undefined ? [] : [{ line: at + 1, module }]
    })

/** True for code of sluice or a plugin, not of Node or a library. A plugin package exports `./plugin`, as sluice does. */
export function isPluginCode(url: string): boolean {
  if (!url.startsWith('file:')) return false
  const { name, exports } = manifestOf(dirname(fileURLToPath(url)))
  return './plugin' in exports || !(url.includes('/node_modules/') || name === 'sluice-libraries')
}

/** Returns the plugin of a script, by folder if it is built in, else by package name or folder; or the program. */
export function pluginOfScript(url: string, watched: Watched): string {
  if (!url.startsWith('file:')) return `the ${watched}`
  const file = fileURLToPath(url)
  const { name } = manifestOf(dirname(file))
  if (name !== null && name !== 'sluice') return name
  const [, builtin] = /\/plugins\/([^/]+)\//.exec(file) ?? []
  return builtin ?? (/\/(kernel|config|agent)\//.test(file) ? `the ${watched}` : basename(dirname(file)))
}

/** Returns the plugin nearest to the top of the stack, or the program when there is none. */
export function pluginOfStack(stack: string, watched: Watched): string {
  const found = scriptsIn(stack)
    .filter(isPluginCode)
    .map(script => pluginOfScript(script, watched))
  return found.find(name => name !== `the ${watched}`) ?? `the ${watched}`
}

/** True if the stack shows code of sluice or a plugin. */
export const hasPluginCode = (stack: string): boolean => scriptsIn(stack).some(isPluginCode)

/** True if code of an external plugin started the failed work. */
export function isBegunOutside(stack: string): boolean {
  const entry = scriptsIn(stack).findLast(isPluginCode)
  return entry !== undefined && !isBuiltIn(fileURLToPath(entry))
}

function isBuiltIn(file: string): boolean {
  const root = join(import.meta.dirname, singleFile.test(import.meta.url) ? '.' : '../..')
  return ['plugins', 'kernel', 'config', 'agent', 'native', 'kit'].some(
    folder => file.startsWith(join(root, folder, '/')) && !file.includes('/test/')
  )
}

const scriptsIn = (stack: string): string[] =>
  [...stack.matchAll(/(file:\/\/[^\n)]+?):(\d+):\d+/g)].map(([, script = '', line]) =>
    moduleAt(script, Number(line))
  )

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
