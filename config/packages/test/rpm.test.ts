// The .rpm packages on a host with systemd: install, run, upgrade, remove. The host is a Debian with rpm; an
// empty package replaces the required packages of a distribution.
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { outDir, root, run, version } from '../run.ts'
import { bootedDebian, logOf, machineWith, noBootedDebian } from './booted-debian.ts'
import type { Debian } from './debian.ts'
import { runSluice, startDeployment } from './machine.ts'

const architecture = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as 'x64' | 'arm64']
const nameOf = (name: string, revision = 1): string => `${name}-${version}-${revision}.${architecture}.rpm`
const query = (file: string, ...options: string[]): string[] =>
  run('rpm', ['--query', '--package', ...options, join(outDir, file)])
    .trim()
    .split('\n')

t.test('the metadata of the packages is correct', async t => {
  t.match(query(nameOf('sluice'), '--info').join('\n'), /^Packager +: .+ <.+@.+>$/m)
  t.strictSame(query(nameOf('sluice-server'), '--configfiles'), ['/etc/sluice/server.toml'])
  t.ok(query(nameOf('sluice-agent'), '--requires').includes(`sluice = ${version}-1`))
  const owned = query(nameOf('sluice'), '--list').filter(path => !path.startsWith('/usr/lib/sluice'))
  t.ok(
    owned.every(path => /sluice[^/]*$/.test(path)),
    'the packages own no folder of the distribution'
  )
  t.match(run('rpm', ['--checksig', join(outDir, nameOf('sluice'))]), /digests OK/)
})

t.test(
  'the .rpm packages keep their state in an upgrade, which restarts the services, and in a removal',
  { skip: noBootedDebian },
  async t => {
    const host = await bootedDebian(t)
    const { dir, inside } = host
    const machine = machineWith(host)
    mkdirSync(join(dir, 'etc/systemd/system-preset'), { recursive: true })
    writeFileSync(join(dir, 'etc/systemd/system-preset/99-default.preset'), 'disable *\n') // like Fedora
    const isActive = (unit: string): string =>
      inside('sh', '-c', `systemctl is-active ${unit} || true`).trim()

    t.throws(() => install(host, [join(outDir, nameOf('sluice-server'))]), /sluice = \S+ is needed/)
    install(host, [distribution(join(t.testdirName, 'distribution')), ...packagesIn(outDir)])
    t.equal(inside('sluice', '--version').trim(), version)
    t.equal(inside('stat', '-c', '%U %a', '/var/lib/sluice').trim(), 'sluice 700')
    t.strictSame(['sluice-server', 'sluice-agent'].map(isActive), ['inactive', 'inactive'], 'nothing starts')

    const first = await startDeployment(t, machine)
    t.equal(await first.forward(), 'got x')
    t.match(await first.agent.until('engine.selected'), { engine: 'native' })

    appendFileSync(join(dir, 'etc/sluice/server.toml'), 'audit_retention_days = 30\n')
    install(host, packagesIn(nextRevision(join(t.testdirName, 'next'))))
    await logOf(t, machine, 'server').until('server.started')
    await logOf(t, machine, 'agent').until('control.connected')
    t.match(inside('rpm', '--query', 'sluice'), `${version}-2`)
    t.match(readFileSync(join(dir, 'etc/sluice/server.toml'), 'utf8'), /audit_retention_days = 30$/m)
    t.equal(await first.forward(), 'got x', 'running services have restarted with their state')
    t.match(runSluice(machine, ['doctor', '--config', '/etc/sluice/server.toml'], first.env), /./)

    inside('rpm', '--erase', 'sluice-server', 'sluice-agent', 'sluice')
    t.strictSame(['sluice-server', 'sluice-agent'].map(isActive), ['inactive', 'inactive'])
    t.ok(statSync(join(dir, 'var/lib/sluice/sluice.db')).size > 0, 'removal keeps the state')
    t.ok(existsSync(join(dir, 'etc/sluice/server.toml.rpmsave')), 'a changed configuration is kept')
    t.notOk(existsSync(join(dir, 'usr/lib/sluice')))
  }
)

function install({ dir, inside }: Debian, files: readonly string[]): string {
  const folder = join(dir, 'packages')
  mkdirSync(folder, { recursive: true })
  for (const file of files) cpSync(file, join(folder, basename(file)))
  return inside('sh', '-c', 'trap "rm -r /packages" EXIT; rpm --force-debian --upgrade /packages/*.rpm')
}

const packagesIn = (folder: string): string[] => globSync(join(folder, `*.${architecture}.rpm`))

/** Builds packages of a higher revision from the same files. */
function nextRevision(dir: string): string {
  const options = [
    '--kind=rpm',
    `--target=linux-${process.arch}`,
    '--native=local',
    '--build=no',
    `--out=${dir}`
  ]
  run(process.execPath, [join(root, 'config/packages/main.ts'), ...options], {
    env: { SLUICE_REVISION: '2' }
  })
  return dir
}

/** Builds an empty package that provides all requirements of the others. */
function distribution(dir: string): string {
  const required = ['sluice', 'sluice-server'].flatMap(name => query(nameOf(name), '--requires'))
  const provided = required.filter(one => !/^(rpmlib|sluice)/.test(one)).map(one => `Provides: ${one}\n`)
  const spec = join(dir, 'distribution.spec')
  mkdirSync(dir)
  writeFileSync(
    spec,
    `Name: distribution\nVersion: 1\nRelease: 1\nSummary: none\nLicense: none\nBuildArch: noarch\n${provided.join('')}%description\n%files\n`
  )
  run('rpmbuild', ['-bb', '--quiet', '--define', `_topdir ${dir}`, '--define', `_rpmdir ${dir}`, spec])
  return join(dir, 'noarch/distribution-1-1.noarch.rpm')
}
