// npm run test:repeated. The body of each change of a test file runs twice, also in processes that it starts, as a store may
// run it: undone, then for good. A file fails where a body is not repeatable.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const opened = import.meta.resolve('../../kernel/store/open.ts')
const repeating = import.meta.resolve('./open.ts')

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    return found.url === opened && context.parentURL !== repeating ? { ...found, url: repeating } : found
  }
})

const given = process.env['SLUICE_TEST_REPEATED']

/** The file with what was found, one a line: of the process of the test file, and of all that it starts. */
export const foundIn = given ?? join(tmpdir(), `sluice-repeated-${process.pid}`)

if (given === undefined) {
  process.env['SLUICE_TEST_REPEATED'] = foundIn
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${import.meta.url}`
  process.on('exit', () => {
    if (!existsSync(foundIn)) return
    console.error(readFileSync(foundIn, 'utf8'))
    rmSync(foundIn)
    process.exitCode = 1
  })
}
