// Writes dist/openapi.json, the OpenAPI document of all built-in plugins, and lints it. npm run openapi
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openPreview } from '../../plugins/extensions/reference/preview.ts'
import { plugins as builtin } from '../plugins.ts'

const root = join(import.meta.dirname, '..', '..')

/** Returns the document of a server with default settings. */
export async function openapiDocument(): Promise<object> {
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  return (await openPreview(plugins)).openapi
}

function lint(file: string): number {
  const cli = join(root, 'node_modules/@redocly/cli/bin/cli.js')
  const config = join(import.meta.dirname, 'redocly.yaml')
  const { status } = spawnSync(process.execPath, [cli, 'lint', file, '--config', config], {
    stdio: 'inherit',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  })
  return status ?? 1
}

if (import.meta.main) {
  const document = await openapiDocument()
  const file = join(root, 'dist', 'openapi.json')
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`)
  process.exitCode = lint(file)
}
