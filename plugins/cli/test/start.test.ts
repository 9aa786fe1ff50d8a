// The modules that a command loads. Loading takes most of its time.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { index } from '../../../config/command-index.ts'
import { spawnChild } from '../../../test/support/child-process.ts'
import { sluice } from '../../../test/support/process.ts'

const preload = `--import=${import.meta.resolve('../../../test/support/list-modules.ts')}`
const unreachable = { SVC_SERVER: 'http://127.0.0.1:9', SVC_TOKEN: 'x' }

/** Returns the loaded modules and their packages. A bundle of libraries has a comment with the path of each file in it. */
function readLoaded(file: string) {
  const loaded = (JSON.parse(readFileSync(file, 'utf8')) as string[]).filter(
    url => !/list-modules|^node:/.test(url)
  )
  const packages = loaded.flatMap(url => {
    const files = url.includes('/sluice-libraries/') ? readFileSync(new URL(url), 'utf8') : url
    return [...files.matchAll(/(?:^\/\/ |\/)node_modules\/((?:@[^/]+\/)?[^/.][^/]*)\//gm)].flatMap(
      ([, name]) => name ?? []
    )
  })
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
    t.ok(loaded.length < 80, `${loaded.length} modules`)
  })

t.test('no API command loads manifests, ORM, schemas, wire or log', async t => {
  const dir = t.testdir({ 'fleet.json': '{"rules":[{}]}' })
  const api = createServer(({ method = '', url = '' }, response) => {
    const isList = method === 'GET' && !/openapi|\/(me|rules\/.+)$/.test(url)
    const rules = [{ targets: [] }] // of apply-checks
    const body = isList ? [] : { components: { schemas: {} }, user_id: 'ann', targets: [], rules }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  t.teardown(() => api.close())
  await once(api, 'listening')
  const origin = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const values: Readonly<Record<string, string>> = { file: join(dir, 'fleet.json'), rule: 'a=b' }
  const lines = index.commands
    .filter(({ needs }) => needs === 'api')
    .map(({ name, args, positional = [] }) => [
      ...[...name.split(' '), '--server', origin],
      ...Object.keys(args.properties)
        .filter(key => args.required?.includes(key))
        .flatMap(key => (positional.includes(key) ? [] : [`--${key.replaceAll('_', '-')}`, '1'])),
      ...positional.filter(key => args.required?.includes(key)).map(key => values[key] ?? '1')
    ])
  const file = join(dir, 'loaded.json')
  const script = `
    const { run } = await import(${JSON.stringify(import.meta.resolve('../main.ts'))})
    for (const line of ${JSON.stringify(lines)}) await run(line).catch(error => console.error(String(error)))
    process.exit()`
  const child = spawnChild(process.execPath, [preload, '--input-type=module', '-e', script], {
    env: { ...process.env, HOME: dir, SVC_TOKEN: 'x', EDITOR: 'true', LOADED_MODULES: file },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  const stderr = text(child.stderr)
  const [status] = await once(child, 'exit')

  t.equal(status, 0, await stderr)
  t.ok(lines.length > 50, `${lines.length} commands`)
  t.notMatch(await stderr, 'manifests')
  t.same(readLoaded(file).packages, ['commander', 'leven', 'smol-toml', 'ulid']) // leven: for names that do not exist
})

t.test('a disabled plugin adds no commands, and no options to commands of others', async t => {
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
  t.notMatch(stdout, /--sni-fallback|quota/)
})

t.test('a broken plugin does not affect commands that read nothing from it', async t => {
  const dir = t.testdir({
    broken: { 'plugin.js': 'throw new Error("broken")', 'package.json': '{"type":"module"}' }
  })
  const config = join(dir, 'server.toml')
  writeFileSync(config, '[plugins."./broken"]\n')
  const run = (...argv: string[]) => sluice(['--config', config, ...argv], unreachable)

  t.match(await run('client', 'show', 'paris'), { code: 69 })
  t.match(await run('rule', 'list'), { code: 78, stderr: /startup\.plugin_failed: plugin \.\/broken/ })
})
