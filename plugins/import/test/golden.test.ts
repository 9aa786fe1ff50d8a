// Configurations of each source, and the rules and rows that they become. TAP_SNAPSHOT=1 rewrites the golden files.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { reasons } from '../reasons.ts'
import { convertFixture, fixtures, shownName } from './fixtures.ts'

const goldenFile = (name: string): string =>
  join(import.meta.dirname, 'golden', `${name.replaceAll(/[/.]/g, '-')}.txt`)

for (const fixture of fixtures) {
  t.test(`${fixture.name} becomes its golden rules and rows`, async t => {
    const { rules, rows } = convertFixture(fixture)
    const lines = [
      ...rules.map((rule, at) => `rules[${at}] = ${JSON.stringify(rule)}`),
      ...rows.map(({ file, line, text, outcome, to, reason }) =>
        [`${file}:${line}`, outcome, reason ?? '-', to ?? '-', text].join(' | ')
      )
    ]
    const text = `${lines.join('\n')}\n`
    const file = goldenFile(fixture.name)
    if (process.env['TAP_SNAPSHOT'] === '1') writeFileSync(file, text)

    t.equal(text, readFileSync(file, 'utf8'))
  })

  t.test(`${fixture.name} gives the same result each time`, async t => {
    t.same(convertFixture(fixture), convertFixture(fixture))
  })
}

t.test('every line that is no comment, brace or continuation is in a row', async t => {
  for (const fixture of fixtures) {
    const { rows } = convertFixture(fixture)
    for (const path of fixture.paths) {
      const name = shownName(fixture.source, path)
      const seen = new Set(rows.filter(({ file }) => file === name).map(({ line }) => line))
      const missing = readFileSync(path, 'utf8')
        .split('\n')
        .flatMap((text, at) => (seen.has(at + 1) || !isStatement(text) ? [] : [`${at + 1}: ${text}`]))

      t.same(missing, [], name)
    }
  }
})

/** False for comments, braces, items of lists in YAML, keys that only open a list, and quoted continuations. */
const isStatement = (line: string): boolean =>
  !/^\s*([#;].*|\{\{\/\*.*|[\]{}(),;[]*|'.*|- ['\d].*|\w+:|\w+ = \[|"\w+": \[?\{?)$/.test(line)

t.test('a row has a reason unless it is mapped, and a place only if it became something', async t => {
  const rows = fixtures.flatMap(fixture => convertFixture(fixture).rows)
  const wrong = rows.filter(
    ({ outcome, reason, to }) =>
      (reason === null) !== (outcome === 'mapped') || (to !== null && /ignored|refused/.test(outcome))
  )

  t.same(
    wrong.filter(({ reason, outcome }) => !(outcome === 'mapped' && reason === 'secret')),
    []
  )
  t.ok(rows.length > 400, `${rows.length} rows`)
})

t.test('the corpora have most of the reasons', async t => {
  const found = new Set(fixtures.flatMap(fixture => convertFixture(fixture).rows.map(({ reason }) => reason)))

  t.same(
    reasons.filter(reason => !found.has(reason)),
    []
  )
})

t.test('docs/IMPORT.md explains every reason', async t => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/IMPORT.md'), 'utf8')
  const table = text.slice(text.indexOf('## Reasons'))

  t.same(
    [...table.matchAll(/^\| `(\w+)` \|/gm)].flatMap(([, code]) => (code === 'reason' ? [] : [code])),
    [...reasons]
  )
})
