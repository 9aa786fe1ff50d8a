import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { nativeUnderTest } from './native-under-test.ts'

const file = join(import.meta.dirname, 'native-exit.ts')
/** A Maglev compilation under way can keep Node itself from exiting: https://github.com/nodejs/node/issues/54918. */
const flags = ['--no-maglev']
const exits = [
  ['exit', 0, 'a process that exits'],
  ['throw', 1, 'a process that throws'],
  ['terminate', 0, 'a thread that is terminated'],
  ['leave', 0, 'a thread that exits']
] as const

const native = nativeUnderTest()
if (!native.ok) t.plan(0, native.reason)
else
  for (const [how, code, subject] of exits)
    t.test(`${subject} ends at once during traffic`, { timeout: 240_000 }, async t => {
      const child = spawnChild(process.execPath, [...flags, file, how], {
        stdio: ['ignore', 'inherit', 'ignore']
      })
      t.teardown(() => child.kill('SIGKILL'))

      t.same(await once(child, 'exit'), [code, null])
    })
