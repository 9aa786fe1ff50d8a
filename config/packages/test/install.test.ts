// Runs the command that `sluice client enroll` prints in a fresh Debian without sluice, against a real server.
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { spawnChild } from '../../../test/support/child-process.ts'
import { outDir, root, version } from '../run.ts'
import { bootedDebian, logOf, machineWith, noBootedDebian } from './booted-debian.ts'
import { debian, noDebian as skip } from './debian.ts'
import { type Daemon, type Machine, runSluice, startDeployment } from './machine.ts'

t.test(
  'install.sh installs, enrolls, runs, can be repeated, refuses a wrong hash, and uninstalls',
  { skip },
  async t => {
    const { dir, prefix, inside } = debian(t)
    const here = serverOf(t)
    const { env } = await startDeployment(t, here)
    const printed = runSluice(here, ['client', 'enroll', 'paris'], env).split('\n')
    const line = printed.find(one => one.startsWith('curl ')) ?? ''
    t.match(line, /sha256sum -c - && echo 'svc:.*' \| sudo sh sluice-install\.sh http:/)
    const asRoot = line.replace('sudo ', '')

    t.throws(() => inside('sh', '-c', asRoot.replace(/echo '[0-9a-f]{8}/, "echo '00000000")), /did NOT match/)
    t.notOk(existsSync(join(dir, 'opt/sluice')), 'a script with another hash is not run')

    const output = inside('sh', '-c', asRoot)
    t.match(output, `installed sluice ${version} in /opt/sluice/${version}`)
    t.match(
      output,
      /start the agent with: \/usr\/local\/bin\/sluice agent run --state-dir \/var\/lib\/sluice-agent/
    )
    t.ok(existsSync(join(dir, 'var/lib/sluice-agent/bundle.json')))
    t.equal(inside('/usr/local/bin/sluice', '--version').trim(), version)

    const again = inside('sh', '-c', asRoot)
    t.match(again, `sluice ${version} is already installed`)
    t.match(again, /this host is already enrolled/)

    const agent = spawnChild(
      'env',
      ['-i', ...prefix, '/usr/local/bin/sluice', 'agent', 'run', '--state-dir', '/var/lib/sluice-agent'],
      {
        stdio: ['ignore', 'ignore', 'pipe']
      }
    )
    t.teardown(() => agent.kill('SIGKILL'))
    for await (const chunk of agent.stderr) if (String(chunk).includes('control.connected')) break
    t.match(runSluice(here, ['client', 'list', '--output', 'json'], env), /"client_name": ?"paris"/)
    agent.kill('SIGTERM')
    await once(agent, 'exit')

    t.match(inside('sh', '/sluice-install.sh', '--uninstall'), /kept: \/var\/lib\/sluice-agent/)
    t.notOk(existsSync(join(dir, 'opt/sluice')))
    t.ok(existsSync(join(dir, 'var/lib/sluice-agent/bundle.json')), 'the state is kept')
  }
)

t.test(
  'install.sh with systemd: the agent runs; a second run restarts it',
  { skip: noBootedDebian },
  async t => {
    const host = await bootedDebian(t)
    const { dir, inside } = host
    const here = serverOf(t)
    const { env } = await startDeployment(t, here)
    const printed = runSluice(here, ['client', 'enroll', 'paris'], env).split('\n')
    const line = printed.find(one => one.startsWith('curl '))?.replace('sudo ', '') ?? ''
    const agent = (): Daemon => logOf(t, machineWith(host), 'agent')
    const started = (): string => inside('systemctl', 'show', '--property=InvocationID', 'sluice-agent')

    t.match(inside('sh', '-c', line), /the agent is running: systemctl status sluice-agent/)
    await agent().until('control.connected')
    t.match(inside('systemctl', 'is-enabled', 'sluice-agent'), 'enabled')
    const first = started()

    t.match(inside('sh', '-c', line), /this host is already enrolled.*the agent is running/s)
    t.not(started(), first)
    await agent().until('control.connected')

    t.match(inside('sh', '/sluice-install.sh', '--uninstall'), /kept: \/var\/lib\/sluice-agent/)
    t.throws(() => inside('systemctl', 'is-active', 'sluice-agent'))
    t.notOk(existsSync(join(dir, 'opt/sluice')))
    t.ok(inside('cat', '/var/lib/sluice-agent/bundle.json'), 'the state is kept')
  }
)

/** Returns a server from this checkout that offers packages. */
function serverOf(t: Test): Machine {
  const work = join(t.testdirName, 'work')
  mkdirSync(work)
  return {
    prefix: [],
    sluice: [process.execPath, join(root, 'dist/kernel/bin.js')],
    serverDir: join(work, 'server'),
    agentDir: join(work, 'agent'),
    env: { HOME: work, SVC_PACKAGES_DIR: outDir }
  }
}
