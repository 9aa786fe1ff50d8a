import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The plugin that a script is of: a built-in one by its folder, another by its package, or by its folder. */
export function ownerOfScript(url: string): string {
  if (!url.startsWith('file:')) return 'the server'
  const file = fileURLToPath(url)
  const owner = packageOf(dirname(file))
  if (owner !== null && owner !== 'sluice') return owner
  const [, builtin] = /\/plugins\/([^/]+)\//.exec(file) ?? []
  return builtin ?? (/\/(kernel|config|agent)\//.test(file) ? 'the server' : basename(dirname(file)))
}

function packageOf(dir: string): string | null {
  const manifest = join(dir, 'package.json')
  if (!existsSync(manifest)) return dir === dirname(dir) ? null : packageOf(dirname(dir))
  const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name?: string }
  return name ?? basename(dir)
}
