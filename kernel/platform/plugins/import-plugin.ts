// Imports external plugins. `sluice/plugin`, `sluice/agent-plugin` and `sluice/kit` resolve to the running program from any
// location, so that plugin and program share slots and services.
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { reasonOf } from '../../base/errors.ts'
import { ownVersion } from '../version.ts'
import { publicModules } from './public-modules.ts'

/** Hashes of a plugin's folder: the files that this process loaded first, and the files to load now. */
interface Loaded {
  readonly first: string
  readonly now: string
}
const loaded = new Map<string, Loaded>() // by the URL of the folder, with a trailing slash
const checked = new Set<string>() // URLs of files that plugins load
let checkFile: (file: string) => void = () => {}

/**
 * Allows changed files of a folder to load beside the old ones. Node caches modules by URL. `check` throws for a file that
 * the folder's modules, and those that they load in turn, must not load.
 */
export function offerFiles(folder: string, sha256: string, check: (file: string) => void): void {
  checkFile = check
  const url = `${pathToFileURL(folder).href}/`
  loaded.set(url, { first: loaded.get(url)?.first ?? sha256, now: sha256 })
}

/** Returns the URL of a plugin's module. Adds a query if its folder has changed since the first load. */
function versioned(url: string): string {
  for (const [folder, { first, now }] of loaded)
    if (first !== now && url.startsWith(folder) && !url.slice(folder.length).includes('node_modules/'))
      return `${url}?sha256=${now}`
  return url
}

const isOfPlugin = (url: string): boolean =>
  checked.has(url) || [...loaded.keys()].some(folder => url.startsWith(folder))

function checkLoaded(url: string): void {
  if (!url.startsWith('file:') || checked.has(url)) return
  checkFile(fileURLToPath(url))
  checked.add(url)
}

let isOffered = false

export function offerPublicModules(): void {
  if (isOffered) return
  isOffered = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const own = publicModules[specifier]
      if (own) return { url: own.href, shortCircuit: true }
      const resolved = next(specifier, context)
      if (isOfPlugin(context.parentURL ?? '')) checkLoaded(resolved.url)
      return { ...resolved, url: versioned(resolved.url) }
    }
  })
}

/** Imports a plugin's file. Errors name the file and line, or the export that this version of sluice does not have. */
export async function importPlugin(file: string): Promise<object> {
  offerPublicModules()
  try {
    return await import(pathToFileURL(file).href)
  } catch (cause) {
    // A plugin for a newer contract may fail to link before its version ranges can be read.
    const [missing] = /'sluice\/[\w-]+' does not provide an export named '\w+'/.exec(String(cause)) ?? []
    if (missing !== undefined)
      throw new Error(
        `${missing}: this is sluice ${ownVersion()}; install a release of the plugin that was made for it, or a newer sluice`,
        { cause }
      )
    const [place] = (cause instanceof SyntaxError && /^file:\S+:\d+/.exec(cause.stack ?? '')) || []
    throw place === undefined ? cause : new Error(`${place}: ${reasonOf(cause)}`, { cause })
  }
}
