// npm test: runs the linter, the compiler, and every test file that can share a process with others.
// SUITE='plugins/quota/test/* test/agent/*' runs only these files, sequentially in one process.
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { TapFile } from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { openWorkerPool } from './worker-pool.ts'

const root = join(import.meta.dirname, '..', '..')
const chosen = process.env['SUITE']?.trim().split(/\s+/)
const { NODE_OPTIONS: _, ...env } = process.env // tap's loaders, which break the compiler
const pool = openWorkerPool(env)
/** Tests of timers and deadlines wait most of their time: they run first, beside the others. */
const isIdle = (file: string): boolean => /engine\/(native|portable)\.test\.ts$/.test(file)

t.setTimeout(0) // each file has a limit
t.jobs = chosen === undefined ? 3 : 1
t.teardown(() => pool.close())
process.once('disconnect', () => process.exit(1)) // tap was killed
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void pool.close().finally(() => process.exit(1)))

if (chosen === undefined)
  for (const script of ['typecheck', 'lint'])
    void t.test(`npm run ${script}`, { buffered: true }, async t => {
      const child = spawnChild('npm', ['run', '--silent', script], { cwd: root, env, stdio: 'pipe' })
      const output = Promise.all([text(child.stdout), text(child.stderr)])
      const [code] = await once(child, 'exit')

      t.equal(code, 0, `npm run ${script}`, { output: (await output).join('') })
    })
const files = globSync(chosen ?? ['test/**/*.test.ts', 'plugins/*/test/**/*.test.ts'], { cwd: root })
for (const file of [...files].sort((one, other) => Number(isIdle(other)) - Number(isIdle(one))))
  void t.sub(TapFile, { name: file, filename: file, tapStream: pool.run(file) })
