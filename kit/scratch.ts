import { existsSync, mkdtempSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Creates a temporary folder on the disk of `dir`, because a store refuses many file systems of /tmp. It lies in
 * node_modules: the content of a plugin's own folder is part of its trusted hash.
 */
export function scratchFor(dir: string, prefix: string): string {
  for (let at = dir; at !== dirname(at); at = dirname(at)) {
    const modules = join(at, 'node_modules')
    if (existsSync(modules)) return mkdtempSync(join(modules, prefix))
  }
  return mkdtempSync(join(dir, prefix))
}
