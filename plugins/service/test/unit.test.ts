// Verifies the units with the tools of systemd, if they are installed.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatUnit, type Role } from '../unit.ts'

const roles: readonly Role[] = ['server', 'agent']
const skip = spawnSync('systemd-analyze', ['--version']).error
  ? 'systemd-analyze is not installed here'
  : false
const argv = [process.execPath, import.meta.filename]
const plain = { user: null, configFile: null, notifies: 'itself' } as const

for (const role of roles)
  t.test(`the unit of the ${role} is valid, with an exposure level of 1.5 at most`, { skip }, async t => {
    for (const user of [null, 'root']) {
      const file = join(t.testdir(), `sluice-${role}.service`)
      writeFileSync(file, formatUnit({ ...plain, role, user }, argv))

      const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
      const security = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=15', file], {
        encoding: 'utf8'
      })

      t.equal(verified.status, 0, verified.stderr)
      t.notMatch(verified.stderr, /sluice/, 'no warning')
      if (user === null) t.equal(security.status, 0, security.stdout.split('\n').at(-2) ?? '')
    }
  })

t.test('the units have one capability, many descriptors, and no restart that would fail again', async t => {
  const [server, agent] = roles.map(role => formatUnit({ ...plain, role }, argv))

  for (const unit of [server, agent]) {
    t.match(unit, /^CapabilityBoundingSet=CAP_NET_BIND_SERVICE$/m)
    t.match(unit, /^AmbientCapabilities=CAP_NET_BIND_SERVICE$/m)
    t.match(unit, /^LimitNOFILE=1048576$/m)
    t.match(unit, /^DynamicUser=yes$/m)
    t.match(unit, /^Type=notify$/m)
    t.match(unit, /^NotifyAccess=main$/m)
    t.match(unit, /^WatchdogSec=30s$/m)
    t.notMatch(unit, /@[A-Z]+@/)
  }
  t.match(server, /^RestartPreventExitStatus=2 78$/m)
  t.match(agent, /^RestartPreventExitStatus=2 4 78$/m)
  t.match(agent, new RegExp(`^ExecStart=${process.execPath} ${import.meta.filename} agent run$`, 'm'))
})

t.test('user and configuration are inserted and quoted for systemd', async t => {
  const unit = formatUnit(
    { ...plain, role: 'server', user: 'sluice', configFile: '/etc/my sluice/100%.toml' },
    argv
  )

  t.match(unit, /^User=sluice\nGroup=sluice$/m)
  t.match(unit, / server --config "\/etc\/my sluice\/100%%\.toml"$/m)
  t.throws(
    () => formatUnit({ ...plain, role: 'server', user: 'a\nExecStartPre=x' }, argv),
    /not a valid name of a system user/
  )
})

t.test('a program without the native addon has systemd-notify report its state, and no watchdog', async t => {
  const units = roles.map(role => formatUnit({ ...plain, role, notifies: 'systemd-notify' }, argv))

  for (const unit of units) {
    t.match(unit, /^Type=notify$/m)
    t.match(unit, /^NotifyAccess=all$/m, 'the sender is a child process')
    t.notMatch(unit, /^Watchdog/m)
  }
})
