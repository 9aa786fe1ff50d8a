import { existsSync, mkdtempSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * A folder for a while, on the disk of `dir`: many a /tmp is one that a store refuses. In the node_modules that serve
 * it, for what lies in a plugin's own folder is a part of what is trusted.
 */
export function scratchFor(dir: string, prefix: string): string {
  for (let at = dir; at !== dirname(at); at = dirname(at)) {
    const modules = join(at, 'node_modules')
    if (existsSync(modules)) return mkdtempSync(join(modules, prefix))
  }
  return mkdtempSync(join(dir, prefix))
}
