// The .deb packages in a fresh Debian without systemd running: installed, used, upgraded, removed, purged.
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { outDir, run, version } from '../run.ts'
import { type Debian, debian, noDebian as skip } from './debian.ts'
import { call, use } from './machine.ts'
import { machineOf } from './units.ts'

const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as 'x64' | 'arm64']
const packages = ['sluice', 'sluice-server', 'sluice-agent']

t.test('Debian: installed, used, upgraded with its state, removed, purged', { skip }, async t => {
  const host = debian(t)
  const { dir, inside } = host

  const output = install(host, outDir)
  t.match(output, /create the first administrator with: sluice setup/)
  t.match(output, /enroll this host with: sluice agent enroll URI --state-dir \/var\/lib\/sluice-agent/)
  t.equal(inside('sluice', '--version').trim(), version)
  t.equal(inside('stat', '-c', '%U %a', '/var/lib/sluice').trim(), 'sluice 700')
  t.ok(existsSync(join(dir, 'usr/share/man/man1/sluice.1.gz')))
  for (const name of ['bash-completion/completions/sluice', 'zsh/vendor-completions/_sluice'])
    t.match(readFileSync(join(dir, 'usr/share', name), 'utf8'), /_sluice/)

  const machine = machineOf(host)
  const first = await use(t, machine)
  t.equal(await first.forward(), 'got x')
  t.match(await first.agent.until('engine.selected'), { engine: 'native' })
  const idOf = (): string => call(machine, ['client', 'list', '--output', 'json'], first.env)
  const { client_id: before } = (JSON.parse(idOf()) as [{ client_id: string }])[0]
  await Promise.all([first.agent.stop(), first.server.stop()])

  const config = join(dir, 'etc/sluice/server.toml')
  appendFileSync(config, 'audit_retention_days = 30\n')
  install(host, nextRevision(join(t.testdirName, 'next')))
  t.match(inside('dpkg-query', '--show', 'sluice'), `${version}-2`)
  t.match(readFileSync(config, 'utf8'), /audit_retention_days = 30$/m, 'the configuration is kept')
  const second = await use(t, machine, first)
  t.equal(await second.forward(), 'got x')
  const { client_id: after } = (JSON.parse(idOf()) as [{ client_id: string }])[0]
  t.equal(after, before, 'and so is the state, on both sides')
  await Promise.all([second.agent.stop(), second.server.stop()])

  inside('dpkg', '--remove', ...packages)
  t.ok(statSync(join(dir, 'var/lib/sluice/sluice.db')).size > 0, 'removal keeps the state')
  t.notOk(existsSync(join(dir, 'usr/lib/sluice')))
  inside('dpkg', '--purge', ...packages)
  for (const path of ['var/lib/sluice', 'var/lib/sluice-agent', 'etc/sluice'])
    t.notOk(existsSync(join(dir, path)), `${path} is purged`)
})

function install({ dir, inside }: Debian, folder: string): string {
  mkdirSync(join(dir, 'packages'))
  for (const file of globSync(join(folder, `*_${architecture}.deb`)))
    cpSync(file, join(dir, 'packages', basename(file)))
  return inside('sh', '-c', 'dpkg --install /packages/*.deb && rm -r /packages')
}

/** Makes packages of a higher revision from the same files. */
function nextRevision(dir: string): string {
  mkdirSync(dir)
  for (const file of globSync(join(outDir, `*_${architecture}.deb`))) {
    const files = join(dir, 'files')
    run('dpkg-deb', ['--raw-extract', file, files])
    const control = join(files, 'DEBIAN/control')
    writeFileSync(control, readFileSync(control, 'utf8').replaceAll(`${version}-1`, `${version}-2`))
    run('dpkg-deb', ['-Zgzip', '-z1', '--build', files, join(dir, basename(file))])
    rmSync(files, { recursive: true })
  }
  return dir
}
