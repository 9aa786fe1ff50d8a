import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { killChild, spawnChild } from './child-process.ts'

const module = JSON.stringify(join(import.meta.dirname, 'child-process.ts'))

/** Starts a child that starts another child; both hold standard output open. */
const program = `
import { spawnChild } from ${module}
spawnChild('sh', ['-c', 'sleep 1000 & wait'], { stdio: ['ignore', 'inherit', 'ignore'] })
console.log('started')
`

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const)
  t.test(`a process that ends by ${signal} leaves no child behind`, async t => {
    const child = spawnChild(process.execPath, ['--input-type=module', '-e', program], { stdio: 'pipe' })
    t.teardown(() => killChild(child))
    const closed = once(child, 'close') // when no process can write to its output
    await once(child.stdout, 'data')

    process.kill(child.pid!, signal)

    t.same(await closed, [null, signal])
  })

t.test('a child that exits is killed with its own children', async t => {
  const child = spawnChild('sh', ['-c', 'sleep 1000 & echo started'], { stdio: 'pipe' })
  t.teardown(() => killChild(child))

  await once(child, 'close')

  t.equal(child.exitCode, 0)
})

t.test('a child is killed with its own children', async t => {
  const child = spawnChild('sh', ['-c', 'sleep 1000 & echo started; wait'], { stdio: 'pipe' })
  const closed = once(child, 'close')
  await once(child.stdout, 'data')

  await killChild(child)

  t.same(await closed, [null, 'SIGKILL'])
})
