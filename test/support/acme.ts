// Writes a third-party plugin to a folder beside the configuration file.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Configuration that loads the plugin. */
export const withAcme = '[plugins."./acme"]\n'

export function writeAcme(dir: string, half: 'plugin' | 'agent', text: string, version = 1): void {
  const folder = join(dir, 'acme')
  const packageJson = { name: 'acme', version: `${version}.0.0`, type: 'module' }
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  writeFileSync(join(folder, 'package.json'), JSON.stringify(packageJson), { mode: 0o644 })
  writeFileSync(join(folder, `${half}.js`), text, { mode: 0o644 })
}
