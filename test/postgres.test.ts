// Every test file either runs on PostgreSQL or is listed as an exception.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { ofSqlite, openingIn, suite, testsOnPostgres } from './postgres/test-selection.ts'

const root = join(import.meta.dirname, '..')
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const opens = openingIn(root)

t.test('each test file runs on PostgreSQL, is listed with a reason, or opens no store', async t => {
  const whole = new Set(testsOnPostgres(root, 'whole'))
  const left = suite
    .flatMap(pattern => globSync(pattern, { cwd: root }))
    .filter(file => !whole.has(file) && !(file in ofSqlite))
  const opening = /\b(?:testServer|testCluster|openStore|openStoreIn|startedServer)\(/

  t.same(parse(textOf('.taprc')).include, suite, 'the suite matches .taprc')
  t.same(
    left.filter(file => opening.test(textOf(file)) && file !== 'test/postgres.test.ts'),
    [],
    'files that open a store are found by their imports'
  )
  t.same(
    testsOnPostgres(root, 'chosen').filter(file => !whole.has(file)),
    []
  )
})

t.test('each listed exception is a file that would run', async t => {
  const stale = Object.keys(ofSqlite).filter(file => !existsSync(join(root, file)) || !opens(file))

  t.same(stale, [])
})
