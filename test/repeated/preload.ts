// npm run test:repeated. Runs the body of each change twice, in the test file and the processes that it starts, like a
// store may: rolled back, then committed. A test file fails if a body is not repeatable.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const opened = import.meta.resolve('../../kernel/store/open.ts')
const repeating = import.meta.resolve('./open-store.ts')

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    return found.url === opened && context.parentURL !== repeating ? { ...found, url: repeating } : found
  }
})

const given = process.env['SLUICE_TEST_REPEATED']

/** The file with the findings, one per line, from the process of the test file and all its children. */
export const findingsFile = given ?? join(tmpdir(), `sluice-repeated-${process.pid}`)

if (given === undefined) {
  process.env['SLUICE_TEST_REPEATED'] = findingsFile
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${import.meta.url}`
  process.on('exit', () => {
    if (!existsSync(findingsFile)) return
    console.error(readFileSync(findingsFile, 'utf8'))
    rmSync(findingsFile)
    process.exitCode = 1
  })
}
