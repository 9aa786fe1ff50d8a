import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openRevocationLog } from '../revocation-log.ts'

const change = (number: number) => ({ number, statements: [{ sql: 'select ?', values: [number] }] })
const numbersOf = (dir: string): number[] =>
  openRevocationLog(dir)
    .after(0)
    .map(({ number }) => number)

t.test('after a kill the changes are there in order, without a torn line', async t => {
  const dir = t.testdir()
  const file = join(dir, 'revocations.jsonl')
  const first = openRevocationLog(dir)
  t.equal(first.next(0), 1)
  for (const number of [1, 2, 3]) first.append(change(number))
  t.equal(statSync(file).mode & 0o777, 0o600)
  appendFileSync(file, '{"number":4,"statem')

  const second = openRevocationLog(dir)

  t.equal(second.fact, first.fact)
  t.match(second.fact, /^revoked-[0-9a-f]{16}$/)
  t.same(second.after(1), [change(2), change(3)])
  t.equal(second.next(3), 4)
  t.equal(second.next(7), 8, 'the store has seen one that a kill has kept from the disk')
  second.append(change(8))
  second.append(change(9))
  t.same(numbersOf(dir), [1, 2, 3, 8, 9])
})

t.test('the file is rewritten when it grows beyond its bound', async t => {
  const dir = t.testdir()
  const file = join(dir, 'revocations.jsonl')
  const lines = Array.from({ length: 19_999 }, (_, at) => JSON.stringify(change(at + 1)))
  writeFileSync(file, `{"fact":"revoked-0"}\n${lines.join('\n')}\n`)

  openRevocationLog(dir).append(change(20_000))

  const kept = numbersOf(dir)
  t.same([kept.length, kept.at(0), kept.at(-1)], [10_000, 10_001, 20_000])
  t.equal(readFileSync(file, 'utf8').split('\n').length, 10_002)
})

t.test('a full disk loses no change in memory, and gets them all later', async t => {
  const dir = t.testdir({ gone: {} })
  const kept = openRevocationLog(join(dir, 'gone'))
  renameSync(join(dir, 'gone'), join(dir, 'back'))
  t.throws(() => kept.append(change(1)), { code: 'ENOENT' })
  t.equal(kept.after(0).length, 1)
  renameSync(join(dir, 'back'), join(dir, 'gone'))

  kept.append(change(2))

  t.same(numbersOf(join(dir, 'gone')), [1, 2])
})

t.test('an error names a damaged file', async t => {
  const dir = t.testdir({ 'revocations.jsonl': '{"fact":"revoked-0"}\nnonsense\n{}\n' })

  t.throws(() => openRevocationLog(dir), { message: /revocations\.jsonl is damaged: .*; remove it/ })
})
