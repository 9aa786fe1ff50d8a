// A worker of the suite. Runs test files sequentially and sends the TAP output of each to its parent.
import './tap-hooks.ts' // first: tap itself loads with these hooks
import { join, resolve } from 'node:path'
import { setImmediate as yieldToEvents } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { forgetGivenPorts } from '../support/ports.ts'
import { findLeftovers, recordState } from './leftovers.ts'
import { provideTest } from './tap-hooks.ts'
import { type FileEnd, type FromWorker, fileTimeoutMs } from './worker-pool.ts'

process.env['_TAPJS_PROCESSINFO_EXCLUDE_'] = '/./' // see config/build/tap-preload.mjs
process.env['MIKRO_ORM_COLORS'] = 'false' // MikroORM sets it
const { default: processTest, Test } = await import('tap')
processTest.setTimeout(0) // unused: each file has a test

type FileTest = InstanceType<typeof Test>

const root = join(import.meta.dirname, '..', '..')

let current: FileTest | null = null

/** Fails the innermost test that runs. */
function failCurrent(error: unknown): void {
  if (!current) throw error
  let test = current
  for (let inner = innerTest(test); inner; inner = innerTest(test)) test = inner
  test.threw(error as Error)
}

const innerTest = (test: FileTest): FileTest | undefined =>
  [...test.activeSubtests].find(inner => inner instanceof Test)

process.on('uncaughtException', failCurrent)
process.on('unhandledRejection', failCurrent)

async function runFile(file: string): Promise<FileEnd> {
  const { href } = pathToFileURL(resolve(root, file))
  const options: ConstructorParameters<typeof Test>[0] = { name: file, timeout: fileTimeoutMs }
  const test = new Test(options)
  test.testdirName = join(root, '.tap/fixtures', file.replaceAll('/', '-')) // the same as if the file ran alone
  test.cb = async () => void (await import(href))
  // Servers stop before their directories are removed: see config/build/tap-preload.mjs.
  test.teardown(() => {})
  test.beforeEach(inner => inner.teardown(() => {}))
  test.on('data', text => send({ text: String(text) }))
  provideTest(href, test)
  const state = recordState(test.testdirName)

  current = test
  const ended = new Promise(resolve => test.once('end', resolve))
  test.runMain(() => {})
  await ended
  test.setTimeout(0) // tap leaves the timer, and reports it later
  await yieldToEvents() // an error that has already happened belongs to this file
  current = null
  forgetGivenPorts()
  return { hasPassed: test.results?.ok === true, leftovers: await findLeftovers(state) }
}

const send = (message: FromWorker): void => void process.send?.(message)

let last = Promise.resolve()
process.on('message', (file: string) => {
  last = last.then(async () => send(await runFile(file)))
})
process.on('disconnect', () => process.exit()) // the suite has ended
