// Writes dist/openapi.json, the document of all built-in plugins, lints it, and writes platform/api/operator-api.ts, the types
// of its operations, by which commands call the API. Run it after a change of routes or schemas: npm run openapi
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openPreview } from '../../plugins/extensions/reference/preview.ts'
import { plugins as builtin } from '../plugins.ts'

const root = join(import.meta.dirname, '..', '..')

/** Returns the document as a server with default settings serves it. */
export async function openapiDocument(): Promise<object> {
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  return (await openPreview(plugins)).openapi
}

interface Generator {
  default(document: object, options: object): Promise<readonly object[]>
  astToString(nodes: readonly object[]): string
}

/** Returns the types as text. */
export async function typesOf(document: object): Promise<string> {
  // A workspace of its own: it needs an older TypeScript than ours.
  const require = createRequire(join(root, '.ci/openapi-types/package.json'))
  const { default: generate, astToString }: Generator = require('openapi-typescript')
  const nodes = await generate(JSON.parse(JSON.stringify(document)), {
    alphabetize: true,
    defaultNonNullable: false // of a request, a property with a default is optional
  })
  return `// Made by npm run openapi from the OpenAPI document.\n${astToString(nodes)}`
}

export const typesFile = join(root, 'platform', 'api', 'operator-api.ts')

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
  writeFileSync(typesFile, await typesOf(document))
  process.exitCode = lint(file)
}
