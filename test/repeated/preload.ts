// npm run test:repeated. Runs the body of each change twice, first rolled back, then committed, as a store may do. Covers
// the test file and the processes that it starts. The file fails if a body is not repeatable.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const original = import.meta.resolve('../../kernel/store/open.ts')
const replacement = import.meta.resolve('./open-store.ts')

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    return found.url === original && context.parentURL !== replacement
      ? { ...found, url: replacement }
      : found
  }
})

const inherited = process.env['SLUICE_TEST_REPEATED']

/** The file for findings of this process and its children, one per line. */
export const findingsFile = inherited ?? join(tmpdir(), `sluice-repeated-${process.pid}`)

if (inherited === undefined) {
  process.env['SLUICE_TEST_REPEATED'] = findingsFile
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${import.meta.url}`
  process.on('exit', () => {
    if (!existsSync(findingsFile)) return
    console.error(readFileSync(findingsFile, 'utf8'))
    rmSync(findingsFile)
    process.exitCode = 1
  })
}
