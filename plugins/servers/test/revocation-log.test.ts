// What a server keeps of its revocations, and an agent that comes while its store turns out to be restored.
import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openRevocationLog } from '../revocation-log.ts'

const change = (number: number) => ({ number, statements: [{ sql: 'select ?', values: [number] }] })
const numbersOf = (dir: string): number[] =>
  openRevocationLog(dir)
    .after(0)
    .map(({ number }) => number)

t.test('what was kept is there after a kill, in its order, and a line that it has torn is not', async t => {
  const dir = t.testdir()
  const file = join(dir, 'revocations.jsonl')
  const first = openRevocationLog(dir)
  t.equal(first.next(0), 1)
  for (const number of [1, 2, 3]) first.keep(change(number))
  t.equal(statSync(file).mode & 0o777, 0o600)
  appendFileSync(file, '{"number":4,"statem')

  const second = openRevocationLog(dir)

  t.equal(second.fact, first.fact)
  t.match(second.fact, /^revoked-[0-9a-f]{16}$/)
  t.same(second.after(1), [change(2), change(3)])
  t.equal(second.next(3), 4)
  t.equal(second.next(7), 8, 'the store has seen one that a kill has kept from the disk')
  second.keep(change(8))
  second.keep(change(9))
  t.same(numbersOf(dir), [1, 2, 3, 8, 9])
})

t.test('the file has a bound, and is made anew beyond it', async t => {
  const dir = t.testdir()
  const file = join(dir, 'revocations.jsonl')
  const lines = Array.from({ length: 19_999 }, (_, at) => JSON.stringify(change(at + 1)))
  writeFileSync(file, `{"fact":"revoked-0"}\n${lines.join('\n')}\n`)

  openRevocationLog(dir).keep(change(20_000))

  const kept = numbersOf(dir)
  t.same([kept.length, kept.at(0), kept.at(-1)], [10_000, 10_001, 20_000])
  t.equal(readFileSync(file, 'utf8').split('\n').length, 10_002)
})

t.test('a disk that takes nothing loses none in memory, and gets all when it does', async t => {
  const dir = t.testdir({ gone: {} })
  const kept = openRevocationLog(join(dir, 'gone'))
  renameSync(join(dir, 'gone'), join(dir, 'back'))
  t.throws(() => kept.keep(change(1)), { code: 'ENOENT' })
  t.equal(kept.after(0).length, 1)
  renameSync(join(dir, 'back'), join(dir, 'gone'))

  kept.keep(change(2))

  t.same(numbersOf(join(dir, 'gone')), [1, 2])
})

t.test('a file that is damaged is named', async t => {
  const dir = t.testdir({ 'revocations.jsonl': '{"fact":"revoked-0"}\nnonsense\n{}\n' })

  t.throws(() => openRevocationLog(dir), { message: /revocations\.jsonl is damaged: .*; remove it/ })
})
