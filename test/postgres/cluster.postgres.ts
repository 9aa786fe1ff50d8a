import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { killChild, spawnChild } from '../support/child-process.ts'
import { isProcessRunning } from './cluster.ts'

const program = `
import { makeCluster } from ${JSON.stringify(join(import.meta.dirname, 'cluster.ts'))}
const cluster = await makeCluster()
cluster.start()
console.log(JSON.stringify({ dir: cluster.dir, pid: cluster.pid() }))
process.kill(process.pid, 'SIGKILL')
`

t.test('a killed test leaves no cluster behind', async t => {
  const child = spawnChild(process.execPath, ['--input-type=module', '-e', program], { stdio: 'pipe' })
  t.teardown(() => killChild(child))
  const closed = once(child, 'close') // when its guard has ended, too

  const { dir, pid } = JSON.parse(await text(child.stdout)) as { dir: string; pid: number }
  t.same(await closed, [null, 'SIGKILL'])

  t.notOk(existsSync(dir))
  t.notOk(isProcessRunning(pid), 'the postmaster has ended')
})
