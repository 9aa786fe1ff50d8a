import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { builtinPlugins } from '../../../config/builtin-plugins.ts'
import { findHalf } from '../../../kernel/platform/plugins/resolve-plugin.ts'
import { conform } from '../../../kit/public.ts'
import { sluice } from '../../../test/support/process.ts'
import { settingsFor } from '../catalogue.ts'
import { scaffold } from '../scaffold.ts'

function scaffolded(t: Test, name = 'acme-idle'): string {
  const dir = join(t.testdir(), name)
  scaffold(name, dir)
  return dir
}

const replace = (dir: string, file: string, from: string, to: string): void => {
  const path = join(dir, file)
  const text = readFileSync(path, 'utf8')
  if (!text.includes(from)) throw new TypeError(`${file} has no ${from}`)
  writeFileSync(path, text.replaceAll(from, to))
}

t.test('a new plugin passes sluice plugin check', async t => {
  const dir = scaffolded(t)
  const before = readdirSync(dir, { recursive: true }).sort()

  t.same(await conform(dir), { name: 'acme-idle', version: '1.0.0', problems: [], notes: [] })
  t.same(readdirSync(dir, { recursive: true }).sort(), before, 'and is left as it was')
  for (const file of before.map(String).filter(file => /\.(ts|proto|md|json)$/.test(file)))
    t.notMatch(readFileSync(join(dir, file), 'utf8'), /__\w+__/, file)
})

t.test('an invalid name and a folder that is not empty are refused', async t => {
  const dir = t.testdir({ taken: { file: 'mine' } })
  t.throws(() => scaffold('Acme Idle', join(dir, 'a')), { message: /write it like/ })
  t.throws(() => scaffold('acme', join(dir, 'taken')), { message: /is not empty/ })
  t.equal(readFileSync(join(dir, 'taken/file'), 'utf8'), 'mine')
})

t.test('the name of a built-in plugin and a path that cannot be a folder are refused', async t => {
  const dir = t.testdir({ file: 'mine' })
  for (const name of ['rules', 'kernel'])
    t.throws(() => scaffold(name, join(dir, 'a')), {
      errorCode: { exit: 2 },
      message: /part of sluice.*acme-/
    })
  t.throws(() => scaffold('acme', join(dir, 'file')), {
    errorCode: { exit: 2 },
    message: /file is not empty/
  })
  t.throws(() => scaffold('acme', join(dir, 'file/in')), {
    errorCode: { exit: 2 },
    message: /in cannot be created/
  })
  t.same(readdirSync(dir), ['file'])
})

t.test('several kinds make one plugin, and an unknown kind is a usage error that names all', async t => {
  const dir = t.testdir()
  const create = (...args: string[]) =>
    sluice(['plugin', 'new', 'acme-both', '--dir', join(dir, 'acme'), ...args])

  const wrong = await create('--kind', 'routes,tabel')
  t.match(wrong, { code: 2, stderr: /--kind has no tabel; give one or more of rule-field, routes, table/ })
  t.match(await create('--kind', 'routes,'), { code: 2, stderr: /has no empty kind/ })
  t.same(readdirSync(dir), [])
  t.match(await create('--kind', 'routes, agent'), { code: 0 })

  t.match(readFileSync(join(dir, 'acme/plugin.ts'), 'utf8'), /routes: \[count\]/)
  t.match(readFileSync(join(dir, 'acme/agent.ts'), 'utf8'), /^ {2}metrics$/m)
  t.match(JSON.parse(readFileSync(join(dir, 'acme/package.json'), 'utf8')), {
    exports: { './plugin': './dist/plugin.js', './agent': './dist/agent.js' }
  })
})

t.test('all problems of a plugin are reported at once', async t => {
  const dir = scaffolded(t, 'acme-bad')
  const entity =
    "defineEntity({ name: 'AcmeBad', tableName: 'idle', properties: { id: p.integer().primary() } })"
  replace(dir, 'plugin.ts', '{ definePlugin }', '{ defineEntity, definePlugin, p }')
  replace(
    dir,
    'plugin.ts',
    'codes: [notTcp],',
    `codes: [notTcp], store: { entities: [${entity}], migrations: [] },`
  )
  replace(dir, 'list.ts', "url: '/v1/acme-bad'", "url: '/acme-bad'")
  replace(dir, 'agent.ts', "name: 'acme-bad',", "name: 'acme-worse',")
  replace(dir, 'agent-field.ts', '...field,', '...field, capability: undefined,')
  rmSync(join(dir, 'README.md'))

  const { problems } = await conform(dir)

  t.same(problems, [
    'acme-bad owns table idle; its name must begin with acme_bad',
    "acme-bad: route /acme-bad must begin with /v1/ or with the plugin's `prefix`",
    'field acme_bad_idle_secs: the agent half does not announce rule.acme-bad',
    'the agent half is named acme-worse, the server half acme-bad',
    'it has no README.md'
  ])
})

t.test('an exported agent half without a file is reported, not ignored', async t => {
  const base = t.testdir({
    node_modules: {
      acme: { 'package.json': '{ "exports": { "./plugin": "./plugin.js", "./agent": "./gone.js" } }' },
      bare: { 'package.json': '{ "exports": { "./plugin": "./plugin.js" } }' }
    }
  })

  t.throws(() => findHalf('acme', 'agent', base), {
    message: /package acme exports .\/agent, but .*gone\.js/
  })
  t.equal(findHalf('bare', 'agent', base), null)
  t.equal(findHalf('none', 'agent', base), null)

  const dir = scaffolded(t, 'acme-half')
  rmSync(join(dir, 'agent.ts'))
  t.match((await conform(dir)).problems, [
    'package.json exports ./agent, but there is no agent.ts or agent.js'
  ])
})

t.test(
  'a syntax error is reported with file and line, and a missing export with the versions that have it',
  async t => {
    const dir = scaffolded(t, 'acme-slip')
    replace(dir, 'rule-field.ts', "change: 'frozen',", "change: 'frozen',,")
    t.match((await conform(dir)).problems, [/^plugin: file:.*acme-slip\/rule-field\.ts:\d+: /])

    const newer = scaffolded(t, 'acme-newer')
    replace(newer, 'rule-field.ts', 'metricsSlot, rules', 'metricsSlot, muchLater, rules')
    t.match((await conform(newer)).problems, [/^plugin: .*'muchLater'.*or a newer sluice/])
  }
)

t.test('tables that differ from the entities are reported with the missing statement', async t => {
  const dir = scaffolded(t, 'acme-drift')
  const migration = `class First extends Migration {
      override up() {
        this.addSql('create table "acme_drift" ("id" varchar(26) not null primary key, "secs" int null)')
      }
    }\n`
  const entity = `defineEntity({ name: 'AcmeDrift', tableName: 'acme_drift',
    properties: { id: p.string().length(26).primary(), secs: p.integer() } })`
  const store = `store: { entities: [${entity}], migrations: [{ name: '0001-first', class: First }] },`
  replace(dir, 'plugin.ts', '{ definePlugin }', '{ defineEntity, definePlugin, Migration, p }')
  replace(dir, 'plugin.ts', 'export default', `${migration}export default`)
  replace(dir, 'plugin.ts', 'codes: [notTcp],', `codes: [notTcp], ${store}`)
  const { problems } = await conform(dir)
  t.same(problems, [
    'migrations and entities differ in the table acme_drift: nullable of the column secs is false in the entity, and true in the table'
  ])
})

t.test('a plugin that throws at import or at start is reported by name', async t => {
  const thrower = scaffolded(t, 'acme-throw')
  replace(thrower, 'field.ts', 'export const field', "throw new Error('no such day')\nexport const field")
  t.match((await conform(thrower)).problems, [/plugin: no such day/])

  const starter = scaffolded(t, 'acme-start')
  replace(
    starter,
    'plugin.ts',
    '  commands: [show]\n',
    "  commands: [show],\n  async start() {\n    throw new Error('not today')\n  }\n"
  )
  t.match((await conform(starter)).problems, [/its first start: plugin acme-start did not start: not today/])
})

t.test('a plugin with required settings is checked with the settings in a configuration', async t => {
  const dir = scaffolded(t)
  const config = 'Type.Object({ url: Type.String() }), keys: Type.Object({ acme_word: Type.String() })'
  replace(
    dir,
    'plugin.ts',
    "  needs: { rules: '^1.0.0' },\n",
    `  needs: { rules: '^1.0.0' },\n  config: ${config},\n`
  )
  replace(dir, 'plugin.ts', '{ definePlugin }', '{ definePlugin, Type }')
  const file = join(dir, '../sluice.toml')

  t.match((await conform(dir, await settingsFor(dir, builtinPlugins, undefined))).problems, [
    /^plugins\.acme-idle .*url.*--config FILE$/,
    /acme_word.*--config FILE$/
  ])
  writeFileSync(
    file,
    'log_level = "info"\nacme_word = "go"\n[plugins."./acme-idle"]\nenabled = true\nurl = "/"\n'
  )
  t.same((await conform(dir, await settingsFor(dir, builtinPlugins, file))).problems, [])
  writeFileSync(file, 'acme_word = "go"\n[plugins.metrics]\n[plugins."./acme-idle"]\nurl = 7\n')
  t.match((await conform(dir, await settingsFor(dir, builtinPlugins, file))).problems, [
    /^plugins\.acme-idle\.url must be string/
  ])
})
