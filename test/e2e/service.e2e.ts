// Runs the command line of a systemd unit as systemd does: with a clean environment, a state directory, a stop signal.
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { sluice } from '../support/process.ts'

t.test('the unit of service install starts a server from an empty state directory', async t => {
  const dir = t.testdir({ units: {}, state: {}, 'server.toml': 'control_listen = "127.0.0.1:0"\n' })
  chmodSync(join(dir, 'state'), 0o700) // like StateDirectoryMode of systemd
  const units = join(dir, 'units')
  const config = join(dir, 'server.toml')
  const installed = await sluice([
    'service',
    'install',
    'server',
    '--unit-dir',
    units,
    '--config-file',
    config
  ])
  t.equal(installed.code, 0, installed.stderr)
  t.match(installed.stderr, /systemctl daemon-reload && systemctl enable --now sluice-server/)
  const unit = readFileSync(join(units, 'sluice-server.service'), 'utf8')
  const [program = '', ...args] = /^ExecStart=(.*)$/m.exec(unit)?.[1]?.split(' ') ?? []

  const server = spawnChild(program, args, {
    env: {
      STATE_DIRECTORY: join(dir, 'state'),
      SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  t.teardown(() => server.kill('SIGKILL'))
  for await (const line of createInterface({ input: server.stderr }))
    if (line.includes('"server.started"')) break
  t.ok(existsSync(join(dir, 'state', 'sluice.db')))
  server.kill('SIGTERM')
  t.same(await once(server, 'exit'), [0, null])
})

t.test('service install reports an unknown role and a directory that is not writable', async t => {
  const nowhere = join(t.testdir(), 'nowhere')

  t.match(await sluice(['service', 'install', 'agent', '--unit-dir', nowhere]), {
    code: 2,
    stderr: /cannot be written.*--print/
  })
  t.match(await sluice(['service', 'install', 'gate', '--print']), { code: 2, stderr: /ROLE/ })
})
