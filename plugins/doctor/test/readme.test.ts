// The table of findings in the README, and the tests that provoke each finding.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checks } from '../checks.ts'
import { findingKinds } from './provoke-findings.ts'

const textOf = (file: string): string => readFileSync(join(import.meta.dirname, file), 'utf8')

t.test('the README lists exactly the findings, with severity, cause and remedy', async t => {
  const wanted = Object.entries(findingKinds).map(
    ([id, { status, when, remedy }]) => `| \`${id}\` | ${status} | ${when} | ${remedy} |`
  )

  t.same(textOf('../README.md').match(/^\| `\w+\.\w+` \| .*$/gm), wanted)
  t.ok(wanted.length >= 30, `${wanted.length} findings`)
})

t.test('each id of a finding is unique and has two words', async t => {
  const ids = checks.flatMap(({ findings }) => Object.keys(findings))

  t.equal(new Set(ids).size, ids.length)
  t.same(
    ids.filter(id => !/^[a-z_]+\.[a-z_]+$/.test(id)),
    []
  )
})

t.test('a test provokes each finding', async t => {
  const tests = globSync(['*.{test,e2e}.ts', '../../../test/postgres/*.postgres.ts'], {
    cwd: import.meta.dirname
  })
    .map(textOf)
    .join()

  t.same(
    Object.keys(findingKinds).filter(id => !tests.includes(`'${id}'`)),
    []
  )
})
