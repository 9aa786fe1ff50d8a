import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { batches, rowsOf, startJournal } from './journal-fixture.ts'

t.test('kill -9 loses nothing that a tick has written', async t => {
  const dir = t.testdir()
  const child = spawnChild(process.execPath, [join(import.meta.dirname, 'journal-child.ts'), dir], {
    stdio: ['pipe', 'pipe', 'inherit']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const tick = async (): Promise<number> => {
    child.stdin.write('x')
    return Number((await lines.next()).value)
  }
  let counted = 0
  for (let second = 0; second < 20; second++) counted = await tick()

  child.kill('SIGKILL')
  await once(child, 'exit')
  const { journal } = startJournal(t, dir)

  const [old, current] = batches(journal)
  t.equal(counted, 20_000)
  t.match(rowsOf([old!]), { 'port 8080': { bytesIn: counted } })
  t.match(current, { gap: { fromMs: Number, toMs: Number } })
})
