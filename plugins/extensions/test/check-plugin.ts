// Writes a plugin and checks it like `sluice plugin check`.
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Conformance, conform } from '../../../kit/public.ts'

/** Returns the source of the plugin `acme`, with code before its manifest and members in it. */
export const acme = (before: string, members: string): string =>
  `import * as s from 'sluice/plugin'
  const { Type, defineRoute, asFunction } = s
  const open = { method: 'POST', access: 'superadmin', summary: 'Acme.' }
  const closed = (properties = {}) => Type.Object(properties, { additionalProperties: false })
  ${before}
  export default { name: 'acme', version: '1.0.0', kernel: '^2.0.0', ${members} }\n`

let count = 0

/** The folder of the plugin that was written last. */
export const lastFolder = (): string => `acme-${count}`

/** `more`: files beside plugin.js and README.md, by name. */
export async function check(
  t: Test,
  before: string,
  members: string,
  more: object = {}
): Promise<Conformance> {
  count += 1 // Node caches modules by path
  const dir = t.testdir({
    [lastFolder()]: { 'README.md': '# acme', 'plugin.js': acme(before, members), ...more }
  })
  return conform(join(dir, lastFolder()))
}
