// Runs tests on a PostgreSQL that it starts: npm run test:postgres. Default: tests of the store and of the plugins that use
// it most; --whole: every file of npm test that may open a store. Arguments are tap options, and test files to run instead.
import { once } from 'node:events'
import { join } from 'node:path'
import { plugins as builtin } from '../../config/plugins.ts'
import { inDependencyOrder } from '../../kernel/dependency-order.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { openStore } from '../../kernel/store/open.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { spawnChild } from '../support/child-process.ts'
import { makeCluster } from './cluster.ts'
import { testsOnPostgres } from './test-selection.ts'

const root = join(import.meta.dirname, '..', '..')
const { at, start, remove } = await makeCluster()
try {
  start()
  process.exitCode = await test()
} finally {
  remove()
}

async function test(): Promise<number> {
  await runAt(at('postgres'), ['create database sluice'])
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  await (await openStore(at('sluice'), [kernelStore, ...inDependencyOrder(plugins)])).close()
  const given = process.argv.slice(2)
  const options = given.filter(word => word !== '--whole')
  const files = testsOnPostgres(root, given.includes('--whole') ? 'whole' : 'chosen')
  const { shared = [], alone = [] } = Object.groupBy(files, file =>
    file.endsWith('.test.ts') ? 'shared' : 'alone'
  )
  const words = options.every(word => word.startsWith('-'))
    ? ['--jobs=3', ...options, 'test/suite/suite.ts', ...alone] // three, since tests of clusters mostly wait for leases
    : options
  const run = spawnChild(join(root, 'node_modules/.bin/tap'), ['--disable-coverage', ...words], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SLUICE_TEST_STORE_URL: at('sluice').url, SUITE: shared.join(' ') }
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => run.kill(signal))
  const [status] = await once(run, 'exit')
  return status ?? 1
}
