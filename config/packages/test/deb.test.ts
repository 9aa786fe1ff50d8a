// The .deb packages in a fresh Debian, with and without systemd: install, run, upgrade, remove, purge.
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { outDir, version } from '../run.ts'
import { bootedDebian, logOf, machineWith, noBootedDebian } from './booted-debian.ts'
import { install, nextRevision } from './deb-packages.ts'
import { debian, noDebian as skip } from './debian.ts'
import { freePort, runSluice, startDeployment } from './machine.ts'
import { machineOf } from './units.ts'

const packages = ['sluice', 'sluice-server', 'sluice-agent']

t.test(
  'the .deb packages keep their state in an upgrade and a removal, and a purge deletes it',
  { skip },
  async t => {
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
    const first = await startDeployment(t, machine)
    t.equal(await first.forward(), 'got x')
    t.match(await first.agent.until('engine.selected'), { engine: 'native' })
    const idOf = (): string => runSluice(machine, ['client', 'list', '--output', 'json'], first.env)
    const { client_id: before } = (JSON.parse(idOf()) as [{ client_id: string }])[0]
    await Promise.all([first.agent.stop(), first.server.stop()])

    const config = join(dir, 'etc/sluice/server.toml')
    appendFileSync(config, 'audit_retention_days = 30\n')
    install(host, nextRevision(outDir, join(t.testdirName, 'next')))
    t.match(inside('dpkg-query', '--show', 'sluice'), `${version}-2`)
    t.match(readFileSync(config, 'utf8'), /audit_retention_days = 30$/m, 'the configuration is kept')
    const second = await startDeployment(t, machine, first)
    t.equal(await second.forward(), 'got x')
    const { client_id: after } = (JSON.parse(idOf()) as [{ client_id: string }])[0]
    t.equal(after, before, 'server and agent keep their state')
    await Promise.all([second.agent.stop(), second.server.stop()])

    inside('dpkg', '--remove', ...packages)
    t.ok(statSync(join(dir, 'var/lib/sluice/sluice.db')).size > 0, 'removal keeps the state')
    t.notOk(existsSync(join(dir, 'usr/lib/sluice')))
    inside('dpkg', '--purge', ...packages)
    for (const path of ['var/lib/sluice', 'var/lib/sluice-agent', 'etc/sluice'])
      t.notOk(existsSync(join(dir, path)), `${path} is purged`)
  }
)

t.test(
  'with systemd, the installation starts the server, an upgrade restarts server and agent, and a server that hangs is restarted',
  { skip: noBootedDebian },
  async t => {
    const host = await bootedDebian(t)
    const { dir, inside } = host
    const machine = machineWith(host)
    const show = (what: string): string[] =>
      ['server', 'agent'].map(role => inside('sh', '-c', `systemctl ${what} sluice-${role} || true`).trim())
    mkdirSync(join(dir, 'etc/sluice'))
    const ports = await Promise.all([freePort(), freePort(), freePort()])
    const keys = ['SVC_OPERATOR_HTTP_LISTEN', 'SVC_CONTROL_LISTEN', 'SVC_METRICS_LISTEN']
    const lines = keys.map((key, i) => `${key}=127.0.0.1:${ports[i]}\n`)
    writeFileSync(join(dir, 'etc/sluice/server.env'), lines.join(''))

    install(host, outDir)
    t.match(await logOf(t, machine, 'server').until('server.started'), { level: 'info' })
    t.strictSame(show('is-active'), ['active', 'inactive'])
    t.strictSame(show('is-enabled'), ['enabled', 'disabled'], 'the agent stays disabled until its enrollment')

    const deployment = await startDeployment(t, machine)
    t.equal(await deployment.forward(), 'got x')
    const before = show('show --value --property=InvocationID')
    install(host, nextRevision(outDir, join(t.testdirName, 'next')))
    await logOf(t, machine, 'server').until('server.started')
    await logOf(t, machine, 'agent').until('control.connected')
    const after = show('show --value --property=InvocationID')
    t.ok(before[0] !== after[0] && before[1] !== after[1], 'both have restarted')
    t.equal(await deployment.forward(), 'got x')

    t.match(show('show --value --property=StatusText'), [/agents connected/, /^connected to /])
    const [hung = ''] = show('show --value --property=MainPID')
    inside('sh', '-c', `kill -STOP ${hung}`)
    inside(
      'sh',
      '-c',
      `while systemctl show --value --property=MainPID sluice-server | grep -qx ${hung}; do sleep 1; done`
    )
    await logOf(t, machine, 'server').until('server.started')
    t.match(inside('journalctl', '--unit=sluice-server', '--output=cat'), /Watchdog timeout \(limit 30s\)/)
    t.equal(await deployment.forward(), 'got x')

    inside('dpkg', '--remove', ...packages)
    t.strictSame(show('is-active'), ['inactive', 'inactive'])
    inside('dpkg', '--purge', ...packages)
    t.notOk(existsSync(join(dir, 'var/lib/sluice')))
  }
)
