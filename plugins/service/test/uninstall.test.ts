// Refused installs and uninstalls, with the real program. systemctl is a script that records its calls.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { sluice } from '../../../test/support/process.ts'

t.test('install refuses a service that would not start, with a remedy, and writes nothing', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-service-')) // any user may enter its parents
  t.teardown(() => rmSync(dir, { recursive: true }))
  chmodSync(dir, 0o755)
  const config = join(dir, 'server.toml')
  const install = (...more: string[]) => sluice(['service', 'install', 'server', '--unit-dir', dir, ...more])
  writeFileSync(config, 'control_listen = "0.0.0.0:443"\n')

  t.match(await install('--config-file', join(dir, 'nope.toml')), { code: 78, stderr: /nope\.toml: ENOENT/ })
  t.match(await install('--user', 'nosuch'), {
    code: 2,
    stderr: /there is no user nosuch: run useradd --system/
  })
  chmodSync(config, 0o600)
  t.match(await install('--config-file', config), {
    code: 2,
    stderr: /cannot read .*: run chmod o\+r .*\.env/
  })
  chmodSync(config, 0o644)
  mkdirSync(join(dir, 'closed'), { mode: 0o700 })
  writeFileSync(join(dir, 'closed', 'server.toml'), '')
  t.match(await install('--config-file', join(dir, 'closed', 'server.toml')), {
    code: 2,
    stderr: /cannot enter .*closed: run chmod o\+x/
  })
  t.notOk(existsSync(join(dir, 'sluice-server.service')))

  const { code, stderr } = await install('--config-file', config)
  t.equal(code, 0, stderr)
  t.match(stderr, 'The unit grants CAP_NET_BIND_SERVICE, for control_listen 0.0.0.0:443.')
  t.match(
    (await sluice(['service', 'install', 'agent', '--unit-dir', dir])).stderr,
    /for rules on ports below \d+\./
  )
})

t.test('uninstall removes the unit, and stops the service if systemd has loaded this file', async t => {
  const dir = t.testdir({
    units: {},
    bin: {
      systemctl: '#!/bin/sh\necho "$@" >> "$CALLS"\ntest "$1" = show && echo "$LOADED"\nexit 0\n'
    }
  })
  chmodSync(join(dir, 'bin', 'systemctl'), 0o755)
  const units = join(dir, 'units')
  const file = join(units, 'sluice-agent.service')
  const calls = join(dir, 'calls')
  const run = (command: string, loaded: string, ...more: string[]) =>
    sluice(['service', command, 'agent', '--unit-dir', units, ...more], {
      PATH: `${join(dir, 'bin')}:${process.env['PATH']}`,
      CALLS: calls,
      LOADED: loaded
    })

  t.match(await run('uninstall', ''), { code: 8, stderr: /^not_found: there is no .*--unit-dir/ })
  await run('install', '')
  const removed = await run('uninstall', file, '--output', 'json')
  t.match(JSON.parse(removed.stdout), {
    unit: file,
    stopped: true,
    kept: ['/var/lib/sluice-agent', /agent\.env$/]
  })
  t.notOk(existsSync(file))
  t.match(readFileSync(calls, 'utf8'), /disable --now sluice-agent\.service\ndaemon-reload\n$/)

  await run('install', '')
  t.match(await run('uninstall', '/etc/systemd/system/sluice-agent.service'), {
    code: 0,
    stdout: /^removed .*service$/m,
    stderr: /^Kept: /
  })
  t.notMatch(readFileSync(calls, 'utf8').split('daemon-reload')[1], 'disable', 'another file is loaded')

  writeFileSync(file, '[Unit]\nDescription=mine\n')
  t.match(await run('uninstall', ''), { code: 2, stderr: /sluice service install did not write/ })
  t.ok(existsSync(file))
})
