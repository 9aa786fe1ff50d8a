// Runs tests with most kinds of changes so that each change body runs twice. npm run test:repeated does so for all tests.
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { spawnChild } from './support/child-process.ts'

const root = join(import.meta.dirname, '..')
const preload = join(import.meta.dirname, 'repeated', 'preload.ts')

/** Runs a test file as npm run test:repeated does. */
async function run(file: string): Promise<{ code: number | null; output: string }> {
  const env = { ...process.env, TAP_TIMEOUT: '280' } // instead of tap's 30 s
  const child = spawnChild(process.execPath, [`--import=${preload}`, join(root, file)], { cwd: root, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', text => {
      output += text
    })
  const [code] = await once(child, 'close')
  return { code, output }
}

const skip = process.env['SLUICE_TEST_REPEATED'] !== undefined && 'the whole run is already repeated'

for (const file of [
  'plugins/rules/test/remove.test.ts',
  'plugins/rules/test/bulk.test.ts',
  'plugins/rules/test/users.test.ts'
])
  t.test(`each change of ${file} is repeatable`, { skip }, async t => {
    const { code, output } = await run(file)

    t.equal(code, 0, output)
  })
