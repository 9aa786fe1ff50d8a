// Both engines' counts of sources, when one owner has more sources than they can count.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import type { SourceLimit } from '../../agent/engine/source-guard.ts'
import { SourceLimits } from '../../agent/portable-engine/source-limits.ts'

const native = join(import.meta.dirname, '../../native')

t.test('portable: a flood of sources at one owner leaves the counts of another one', t => {
  const limits = new SourceLimits()
  const limitOf = (owner: string): SourceLimit[] => [
    { name: owner, of: 'new', max: 1, perMs: 3_600_000, refusal: 'too_many' }
  ]
  const isRefused = (owner: string, source: string) =>
    'refusal' in limits.enter(owner, limitOf(owner), source, () => {})

  isRefused('bob', '192.0.2.1')
  for (let i = 0; i < 70_000; i++) isRefused('ann', `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)

  t.ok(isRefused('bob', '192.0.2.1'))
  t.ok(isRefused('ann', '10.1.17.111'), 'the newest source is counted')
  t.notOk(isRefused('ann', '10.0.0.0'), 'the oldest is not')
  t.end()
})

t.test('native: a flood of sources at one owner leaves the counts of other ones', t => {
  const program = join(t.testdir(), 'source-rates')
  const files = ['test/source-rates.cc', 'src/source-limits.cc', 'src/address-set.cc', 'src/address.cc']
  const built = spawnSync('g++', ['-std=c++20', '-o', program, ...files], { cwd: native, encoding: 'utf8' })
  if (built.error) return void t.plan(0, 'there is no C++ compiler')

  t.equal(built.status, 0, built.stderr)
  t.equal(spawnSync(program, { encoding: 'utf8' }).stdout.trim(), '10')
  t.end()
})
