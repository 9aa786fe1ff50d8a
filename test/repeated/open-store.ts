// Replaces kernel/store/open.ts in tests, so that each change runs twice. See preload.ts.
import { appendFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { openStore as open } from '../../kernel/store/open.ts'
import { type Caller, openRepeatedChanges } from '../../kit/repeated-changes.ts'
import { findingsFile } from './preload.ts'

export * from '../../kernel/store/open.ts'

const root = join(import.meta.dirname, '..', '..')
const storeCode = /^(?:kernel\/store|kit\/repeated-changes\.ts|test\/repeated|test\/support|node_modules)\b/

/** Returns the line of the change and its callers, since bodies are often built elsewhere. */
function describeCallers(callers: readonly Caller[]): string {
  const lines = callers
    .map(({ file, line }) => `${relative(root, file).replaceAll(sep, '/')}:${line}`)
    .filter(place => !storeCode.test(place))
  return lines.slice(0, 4).join(' < ')
}

const repeated = openRepeatedChanges({
  placeOf: describeCallers,
  tell: problem => appendFileSync(findingsFile, `${problem}\n`) // synchronous, since the process may be killed
})

export const openStore: typeof open = async (...args) => repeated.wrapStore(await open(...args))
