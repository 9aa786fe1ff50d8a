// Module hooks of a worker. A test file that imports tap gets the `Test` of that file instead of the process-wide one.
import { registerHooks } from 'node:module'
import type { Test } from 'tap'

const scheme = 'tap-of:'
const tests = new Map<string, Test>() // by the URL of the test file

// tap tracks every asynchronous call to map an uncaught error to its test, which costs an eighth of a run.
// A worker runs one file at a time, and handles these errors itself.
const domain = 'data:text/javascript,export class Domain { destroy() {} }'

/** Returns the test of a file. The module that the hooks generate calls it. */
export function testOf(url: string): Test {
  const test = tests.get(url)
  if (!test) throw new Error(`${url} is no test file of this worker`)
  return test
}

/** Makes `test` the default export of tap for the module at `url`. */
export const provideTest = (url: string, test: Test): void => void tests.set(url, test)

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'async-hook-domain') return { url: domain, format: 'module', shortCircuit: true }
    const { parentURL = '' } = context
    if (specifier !== 'tap' || !tests.has(parentURL)) return next(specifier, context)
    return { url: scheme + parentURL, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith(scheme)) return next(url, context)
    const source = `import { testOf } from ${JSON.stringify(import.meta.url)}
      export default testOf(${JSON.stringify(url.slice(scheme.length))})`
    return { format: 'module', source, shortCircuit: true }
  }
})
