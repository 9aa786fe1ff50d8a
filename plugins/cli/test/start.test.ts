// What a command loads before it does its work: that is nearly all of its time.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { index } from '../../../config/command-index.ts'
import { sluice } from '../../../test/support/process.ts'

const preload = `--import=${import.meta.resolve('../../../test/support/list-modules.ts')}`
const unreachable = { SVC_SERVER: 'http://127.0.0.1:9', SVC_TOKEN: 'x' }

/** Returns the modules that were loaded, and the packages that they belong to. */
function readLoaded(file: string) {
  const loaded = (JSON.parse(readFileSync(file, 'utf8')) as string[]).filter(
    url => !/list-modules|^node:/.test(url)
  )
  const packages = loaded.flatMap(url => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])
  return { loaded, packages: [...new Set(packages)].sort() }
}

async function start(t: Test, argv: readonly string[]) {
  const file = join(t.testdir(), 'loaded.json')
  const { code } = await sluice([...argv], { ...unreachable, NODE_OPTIONS: preload, LOADED_MODULES: file })
  return { code, ...readLoaded(file) }
}

for (const [argv, exit] of [
  [['--version'], 0],
  [['--help'], 0],
  [['rule', '--help'], 0],
  [['completion', 'bash'], 0],
  [['rule', 'list'], 69],
  [['rule', 'push', 'paris', '8080', 'web:80', '--sni', 'a.example'], 69]
] as const)
  t.test(`sluice ${argv.join(' ')} loads few modules`, async t => {
    const { code, loaded, packages } = await start(t, argv)

    t.equal(code, exit)
    t.same(
      packages.filter(name => name !== 'ulid'),
      ['commander']
    )
    t.ok(loaded.length < 70, `${loaded.length} modules`)
  })

t.test(
  'no command of the API needs manifests, ORM, schemas, wire or log, but those of `apply` and those that change any field',
  async t => {
    const commands = index.commands.filter(({ needs }) => needs === 'api')
    const light = commands.filter(({ reads }) => reads !== null)
    const file = join(t.testdir(), 'loaded.json')
    const script = `
    const { Installed } = await import(${JSON.stringify(import.meta.resolve('../installed.ts'))})
    const { index } = await import(${JSON.stringify(import.meta.resolve('../../../config/command-index.ts'))})
    const { commandModules: modules } = await import(${JSON.stringify(import.meta.resolve('../../../config/commands.ts'))})
    const installed = new Installed({ index, modules, file: null, agentFile: null, loadManifests: () => { throw new Error('manifests') } })
    for (const name of ${JSON.stringify(light.map(({ name }) => name))}) await installed.load(name)`
    const { status, stderr } = spawnSync(process.execPath, [preload, '--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: { ...process.env, LOADED_MODULES: file }
    })

    t.equal(status, 0, stderr)
    t.same(readLoaded(file).packages, ['ulid'])
    t.same(
      commands.filter(({ reads }) => reads === null).map(({ name }) => name),
      ['apply', 'diff', 'export', 'rule bulk', 'rule edit', 'rule set']
    )
  }
)

t.test('a disabled plugin has neither commands nor options of others', async t => {
  const config = join(t.testdir(), 'server.toml')
  writeFileSync(config, '[plugins.sni]\nenabled = false\n[plugins.quota]\nenabled = false\n')
  const run = (...argv: string[]) => sluice(['--config', config, ...argv], unreachable)

  t.match(await run('rule', 'push', 'paris', '1', 'a:2', '--sni', 'a'), {
    code: 2,
    stderr: /unknown option '--sni'/
  })
  t.match(await run('rule', 'push', 'paris', '1', 'a:2', '--health-interval', '5'), { code: 69 })
  t.match(await run('quota', 'list'), { code: 2, stderr: /unknown command 'quota'/ })
  const { stdout } = await run('completion', 'bash')
  t.notMatch(stdout, /--sni|quota/)
})

t.test('a broken plugin does not stop commands that read nothing of it', async t => {
  const dir = t.testdir({
    broken: { 'plugin.js': 'throw new Error("broken")', 'package.json': '{"type":"module"}' }
  })
  const config = join(dir, 'server.toml')
  writeFileSync(config, '[plugins."./broken"]\n')
  const run = (...argv: string[]) => sluice(['--config', config, ...argv], unreachable)

  t.match(await run('client', 'show', 'paris'), { code: 69 })
  t.match(await run('rule', 'list'), { code: 78, stderr: /startup\.plugin_failed: plugin \.\/broken/ })
})
