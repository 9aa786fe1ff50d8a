import t from 'tap'
import { openProbeQueue } from '../probe-queue.ts'

function testQueue() {
  const queue = openProbeQueue()
  const running: { readonly owner: string; readonly end: () => void }[] = []
  const add = (owner: string, isSlow = false): void =>
    queue.add({
      owner,
      isSlow,
      run() {
        const { promise, resolve } = Promise.withResolvers<void>()
        running.push({ owner, end: resolve })
        return promise
      }
    })
  const count = (owner: string): number => running.filter(probe => probe.owner === owner).length
  return { queue, running, add, count }
}

t.test('an owner with many rules leaves half of the places to others', async t => {
  const { queue, add, count } = testQueue()

  for (let i = 0; i < 100; i++) add('ann')
  for (let i = 0; i < 5; i++) add('bob')

  t.equal(count('ann'), 16)
  t.equal(count('bob'), 5)
  t.equal(queue.waitingCount(), 84)
})

t.test('a probe that ends makes room for the next one, until none waits', async t => {
  const { queue, add, running } = testQueue()
  for (let i = 0; i < 100; i++) add('ann')

  for (let at = 0; at < running.length; at++) {
    running[at]?.end()
    await Promise.resolve()
    await Promise.resolve()
  }

  t.equal(running.length, 100)
  t.equal(queue.waitingCount(), 0)
})

t.test('probes of silent targets take few places, and leave the others free', async t => {
  const { add, count } = testQueue()

  for (let i = 0; i < 50; i++) add('ann', true)
  const slow = count('ann')
  add('ann')
  add('bob')

  t.equal(slow, 7)
  t.equal(count('ann'), 8)
  t.equal(count('bob'), 1)
})

t.test('a cleared queue starts nothing more', async t => {
  const { queue, add, running } = testQueue()
  for (let i = 0; i < 100; i++) add('ann')

  queue.clear()
  for (const probe of running) probe.end()
  await new Promise(setImmediate)

  t.equal(running.length, 16)
  t.equal(queue.waitingCount(), 0)
})
