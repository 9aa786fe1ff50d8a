import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { nodeVersion } from '../downloads.ts'
import { sha256Of } from '../program-contents.ts'
import { outDir, root, run, version } from '../run.ts'
import { targets } from '../targets.ts'
import { runSluice, startDeployment } from './machine.ts'

const name = `sluice-${version}-${process.platform}-${process.arch}`

t.test('the tarball needs only a C library: no Node, and no PATH', async t => {
  const dir = t.testdir({ server: {}, agent: {} }) // on the checkout's disk: the store refuses tmpfs
  const untar = spawnSync('tar', ['-xzf', join(outDir, `${name}.tar.gz`), '-C', dir], { encoding: 'utf8' })
  t.equal(untar.status, 0, untar.stderr)
  const sluice = [join(dir, name, 'bin', 'sluice')]
  const serverDir = join(dir, 'data', 'server')
  const agentDir = join(dir, 'data', 'agent')
  mkdirSync(join(dir, 'data'))
  const machine = { prefix: [], sluice, serverDir, agentDir, env: { HOME: join(dir, 'data') } }
  t.equal(runSluice(machine, ['--version']).trim(), version)
  t.match(runSluice(machine, ['agent', 'join', '--help']), '--service', 'the single-file agent lacks it')

  const deployment = await startDeployment(t, machine)

  t.equal(await deployment.forward(), 'got x')
  t.match(await deployment.agent.until('engine.selected'), { engine: 'native' })
  await deployment.agent.stop()
  await deployment.server.stop()
})

interface Component {
  readonly name: string
  readonly version?: string
  readonly purl?: string
  readonly hashes?: readonly { readonly content: string }[]
  readonly components?: readonly Component[]
}

const archive = join(outDir, `${name}.tar.gz`)

t.test('the list beside the tarball names its libraries, its Node and its engine, with hashes', async t => {
  const bom = JSON.parse(readFileSync(`${archive}.cdx.json`, 'utf8'))
  const components: readonly Component[] = bom.components
  const find = (name: string) => components.find(component => component.name === name)
  const dir = t.testdir()
  run('tar', ['-xzf', archive, '-C', dir])
  const program = join(dir, name)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const locked = (place: string): string => lock.packages[`node_modules/${place}`].version

  t.match(bom, { bomFormat: 'CycloneDX', specVersion: '1.6' })
  t.match(bom.metadata.component, { version, hashes: [{ content: sha256Of(archive) }] })
  const target = targets.find(({ name: machine }) => name.endsWith(machine)) ?? targets[0]
  t.match(find('node'), {
    version: target && nodeVersion(target),
    hashes: [{ content: sha256Of(join(program, 'node/bin/node')) }]
  })
  const { openssl } = JSON.parse(
    run(join(program, 'node/bin/node'), ['-p', 'JSON.stringify(process.versions)'])
  )
  t.match(
    find('node')?.components?.find(({ name }) => name === 'openssl'),
    { version: openssl }
  )
  const engine = `native/prebuilds/${process.platform}-${process.arch}/sluice.node`
  t.match(find(engine), { hashes: [{ content: sha256Of(join(program, engine)) }] })
  t.match(find('better-sqlite3'), { components: [{ name: 'sqlite', version: /^3\.\d+\.\d+$/ }] })
  t.match(find('fastify'), { purl: `pkg:npm/fastify@${locked('fastify')}` })
  for (const bundled of ['react', 'minisearch']) t.ok(find(bundled), bundled)
  for (const absent of ['typescript', 'tap', 'vite', '@types/better-sqlite3'])
    t.notOk(find(absent), `${absent} is not in the package`)
})

t.test('a second build makes the same bytes, whatever the time zone, the locale and the umask', async t => {
  const out = t.testdir()
  const main = join(import.meta.dirname, '../main.ts')
  const args = ['--kind', 'tarball', '--target', name.replace(`sluice-${version}-`, '')]
  const program = [process.execPath, main, ...args, '--native', 'local', '--build', 'no', '--out', out]
  const env = { ...process.env, TZ: 'Asia/Kathmandu', LC_ALL: 'C.UTF-8' }
  const built = spawnSync('sh', ['-c', 'umask 077; exec "$@"', 'sh', ...program], { encoding: 'utf8', env })
  t.equal(built.status, 0, built.stderr)
  t.match(built.stderr, /^\[1\/2\] tarball for .* \.\.\.$/m, 'says what it does and what is left')

  for (const file of [`${name}.tar.gz`, `${name}.tar.gz.cdx.json`])
    t.equal(sha256Of(join(out, file)), sha256Of(join(outDir, file)), file)
  const checked = spawnSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
    cwd: out,
    encoding: 'utf8'
  })
  t.equal(checked.status, 0, checked.stderr)
  t.equal(checked.stdout, `${name}.tar.gz: OK\n${name}.tar.gz.cdx.json: OK\n`)
})
