// The table of findings in the README, and the tests that provoke each.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checks } from '../checks.ts'
import { kinds } from './provoke.ts'

const textOf = (file: string): string => readFileSync(join(import.meta.dirname, file), 'utf8')

t.test('the README has each finding with its severity, cause and remedy, and no other', async t => {
  const wanted = Object.entries(kinds).map(
    ([id, { status, when, remedy }]) => `| \`${id}\` | ${status} | ${when} | ${remedy} |`
  )

  t.same(textOf('../README.md').match(/^\| `\w+\.\w+` \| .*$/gm), wanted)
  t.ok(wanted.length >= 30, `${wanted.length} findings`)
})

t.test('the ids of a finding begin with the name of its check, and no id is used twice', async t => {
  const ids = checks.flatMap(({ findings }) => Object.keys(findings))

  t.equal(new Set(ids).size, ids.length)
  t.same(
    ids.filter(id => !/^[a-z_]+\.[a-z_]+$/.test(id)),
    []
  )
})

t.test('each finding is provoked by a test', async t => {
  const tests = globSync(['*.{test,e2e}.ts', '../../../test/postgres/*.postgres.ts'], {
    cwd: import.meta.dirname
  })
    .map(textOf)
    .join()

  t.same(
    Object.keys(kinds).filter(id => !tests.includes(`'${id}'`)),
    []
  )
})
