import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadPlugins } from '../../../kernel/platform/plugins/load-plugins.ts'
import { conform } from '../../../kit/public.ts'
import { importExternal } from '../trust/import-external.ts'
import { lockFileIn, trust } from '../trust/plugin-lock.ts'

const pluginSource = (variant: string) =>
  `export default { name: 'acme', version: '1.2.3', kernel: '^2.0.0', variant: '${variant}' }\n`

function trustFixture(t: Test, section: Readonly<Record<string, unknown>> = {}) {
  const dir = t.testdir({
    acme: {
      'plugin.js': pluginSource('one'),
      'package.json': '{"name":"acme","version":"1.2.3","type":"module"}'
    }
  })
  for (const path of ['acme', 'acme/plugin.js', 'acme/package.json'])
    chmodSync(join(dir, path), path === 'acme' ? 0o755 : 0o644)
  const file = join(dir, 'acme/plugin.js')
  const load = () =>
    loadPlugins<{ name: string }>({
      half: 'plugin',
      builtin: {},
      importExternal,
      table: { './acme': section },
      baseDir: dir
    })
  return { dir, file, load }
}

t.test('the first load records the files, and later loads accept the same files', async t => {
  const { dir, load } = trustFixture(t)
  t.match(await load(), { plugins: [{ name: 'acme' }] })
  t.match(JSON.parse(readFileSync(lockFileIn(dir), 'utf8')), {
    './acme': { name: 'acme', version: '1.2.3', sha256: /^[0-9a-f]{64}$/ }
  })
  await t.resolves(load())
})

t.test(
  'in development, edited files run untrusted, but other users must not be able to write them',
  async t => {
    const { dir, file, load } = trustFixture(t, { development: true })
    await load()
    writeFileSync(join(dir, 'acme/README.md'), 'edited')
    t.same((await load()).sections, { acme: {} }, 'the key is of the loader, not of the plugin')
    chmodSync(file, 0o666)
    await t.rejects(load(), { message: /others may write/ })
  }
)

t.test('changed files run only after they are trusted again', async t => {
  const { dir, file, load } = trustFixture(t)
  await load()
  writeFileSync(file, pluginSource('two'))
  const refused = { message: /acme 1.2.3 was trusted.*sluice plugin trust \.\/acme/s }
  await t.rejects(load(), refused)
  writeFileSync(join(dir, 'acme/more.js'), '')
  await t.rejects(load(), refused)

  trust('./acme', file, dir)
  await t.resolves(load())
})

t.test('changes of hidden files are detected', async t => {
  const { dir, load } = trustFixture(t)
  mkdirSync(join(dir, 'acme/.lib'))
  writeFileSync(join(dir, 'acme/.lib/.more.js'), '')
  await load()
  writeFileSync(join(dir, 'acme/.lib/.more.js'), ' ')
  await t.rejects(load(), { message: /acme 1.2.3 was trusted/ })
})

t.test('a symbolic link in a plugin is refused', async t => {
  const { dir, load } = trustFixture(t)
  symlinkSync('.', join(dir, 'acme/lib'))
  await t.rejects(load(), { message: /acme\/lib is a symbolic link.*replace it with the file or folder/s })
})

t.test('the lock file is readable by the service user, whatever the umask', async t => {
  const { dir, file, load } = trustFixture(t)
  const umask = process.umask(0o077)
  t.teardown(() => process.umask(umask))
  trust('./acme', file, dir)
  t.equal(statSync(lockFileIn(dir)).mode & 0o777, 0o644)
  await t.resolves(load())
})

for (const broken of ['', 'null', '[]', '{"./acme":null}', '{"./acme":{}}'])
  t.test(`an invalid lock file (${broken || 'empty'}) trusts no plugin and is reported`, async t => {
    const { dir, load } = trustFixture(t)
    writeFileSync(lockFileIn(dir), broken)
    await t.rejects(load(), { message: /plugins\.lock cannot be read: .*delete it/s })
  })

t.test("the hash of a plugin without a package does not cover the configuration's folder", async t => {
  const { dir, load } = trustFixture(t)
  rmSync(join(dir, 'acme/package.json'))
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}')
  await load()
  writeFileSync(join(dir, 'server.toml'), '# changed')
  await t.resolves(load())
})

t.test('the hash does not cover a lock file in the folder of the plugin', async t => {
  const { dir } = trustFixture(t)
  const load = () =>
    loadPlugins({
      half: 'plugin',
      builtin: {},
      importExternal,
      table: { '.': {} },
      baseDir: join(dir, 'acme')
    })
  await load()
  await t.resolves(load())
})

t.test('files that other users can write are refused and not recorded', async t => {
  const { dir, file, load } = trustFixture(t)
  chmodSync(file, 0o666)
  await t.rejects(load(), { message: /others may write acme\/plugin.js.*chmod/s })
  t.notOk(existsSync(lockFileIn(dir)))
  chmodSync(file, 0o644)
  chmodSync(join(dir, 'acme'), 0o777)
  await t.rejects(load(), { message: /others may write acme/ })
  chmodSync(join(dir, 'acme'), 0o755)
  mkdirSync(join(dir, 'acme/lib'))
  chmodSync(join(dir, 'acme/lib'), 0o777)
  await t.rejects(load(), { message: /others may write acme\/lib;/ })
})

/** Installs a package beside the plugin or in it. Returns its file. */
function install(modules: string, name: string, manifest: object = {}): string {
  const folder = join(modules, name)
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name, type: 'module', main: 'index.js', ...manifest })
  )
  writeFileSync(join(folder, 'index.js'), 'export default 1\n')
  for (const file of ['package.json', 'index.js']) chmodSync(join(folder, file), 0o644)
  return join(folder, 'index.js')
}

t.test('a changed dependency of a trusted plugin does not run until it is trusted again', async t => {
  const { dir, file, load } = trustFixture(t)
  const manifest = { name: 'acme', version: '1.2.3', type: 'module', dependencies: { near: '1', far: '1' } }
  writeFileSync(join(dir, 'acme/package.json'), JSON.stringify(manifest))
  const files = {
    near: install(join(dir, 'acme/node_modules'), 'near', { optionalDependencies: { '@s/deep': '1' } }),
    undeclared: install(join(dir, 'acme/node_modules'), 'undeclared'),
    far: install(join(dir, 'node_modules'), 'far'),
    deep: install(join(dir, 'node_modules'), '@s/deep')
  }
  await load()
  await t.resolves(load())

  for (const [name, changed] of Object.entries(files)) {
    writeFileSync(changed, 'export default 2\n')
    const message = new RegExp(
      `its dependency .*${name} has changed since acme 1.2.3.*sluice plugin trust ./acme`,
      's'
    )
    await t.rejects(load(), { message }, name)
    trust('./acme', file, dir)
    await t.resolves(load(), name)
  }
  install(join(dir, 'acme/node_modules'), 'added')
  await t.rejects(load(), { message: /its dependency .*added has changed/ })
})

t.test('a dependency that other users can write is refused', async t => {
  const { dir, load } = trustFixture(t)
  const evil = install(join(dir, 'acme/node_modules'), 'evil')
  await load()
  chmodSync(evil, 0o666)

  await t.rejects(load(), {
    message: /others may write evil\/index.js; run: chmod -R go-w .*node_modules\/evil/s
  })
})

t.test('a plugin cannot load an undeclared file that other users can write', async t => {
  const { dir, file, load } = trustFixture(t)
  const stray = install(join(dir, 'node_modules'), 'stray')
  const source = pluginSource('one').replace(' }\n', ", load: () => import('stray') }\n")
  writeFileSync(file, source)
  const [plugin] = (await load()).plugins as unknown as { load(): Promise<unknown> }[]
  chmodSync(stray, 0o666)

  await t.rejects(Promise.resolve(plugin?.load()), { message: /others may write stray\/index.js/ })
  chmodSync(stray, 0o644)
  await t.resolves(Promise.resolve(plugin?.load()))
})

t.test('a first load says which files are trusted now', async t => {
  const { load } = trustFixture(t)

  const [text = ''] = (await load()).firstTrusted

  t.match(text, /plugin \.\/acme \(acme 1.2.3, sha256 [0-9a-f]{64}\) was loaded for the first time/)
  t.same((await load()).firstTrusted, [])
})

t.test('a trusted plugin can be loaded while it is being checked', async t => {
  const { dir, file, load } = trustFixture(t)
  writeFileSync(join(dir, 'acme/README.md'), '# acme\n')
  writeFileSync(
    file,
    pluginSource('one').replace(' }\n', `, async start() { await globalThis[Symbol.for('${dir}')]?.() } }\n`)
  )
  await load()
  const loads: unknown[] = []
  Object.assign(globalThis, { [Symbol.for(dir)]: async () => loads.push(await load()) })

  const { problems } = await conform(join(dir, 'acme'))

  t.same(problems, [])
  t.equal(loads.length, 3, 'at each of its starts')
})
