// `agent join`, with the real program and a real server. systemctl is a script that records its calls.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { testServer } from '../../../kit/test-server.ts'
import { sluice } from '../../../test/support/process.ts'

const systemctl = `#!/bin/sh
echo "$@" >> "$CALLS"
case $1 in
  is-system-running) echo "\${SYSTEM:-running}" ;;
  show) echo "$LOADED" ;;
  restart) test -z "$BROKEN" || { echo 'Job failed.' >&2; exit 1; } ;;
esac
`

/** An edge host with its own systemd, and a key of a server. */
async function edgeHost(t: Test) {
  const app = await testServer(t, { plugins: ['advertised-endpoint', 'clients', 'enrollment'] })
  const { body } = await app.call<{ uri: string }>('POST', '/v1/enrollment-keys', { label: 'web' })
  const dir = t.testdir({ bin: { systemctl } })
  chmodSync(dir, 0o755)
  chmodSync(join(dir, 'bin', 'systemctl'), 0o755)
  mkdirSync(join(dir, 'units'))
  const calls = join(dir, 'calls')
  const unit = join(dir, 'units', 'sluice-agent.service')
  return {
    app,
    dir,
    unit,
    uri: body.uri,
    join: (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      sluice(['agent', 'join', ...args], {
        PATH: `${join(dir, 'bin')}:${process.env['PATH']}`,
        CALLS: calls,
        SVC_STATE_DIR: join(dir, 'state'),
        ...env
      }),
    service: ['--service', '--unit-dir', join(dir, 'units')],
    /** Returns the calls of systemctl that change something, and forgets all. */
    changes(): string[] {
      const lines = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []
      writeFileSync(calls, '')
      return lines.filter(line => !/^(show|is-system-running)/.test(line))
    },
    async clients(): Promise<number> {
      return (await app.call<unknown[]>('GET', '/v1/clients')).body.length
    }
  }
}

t.test('join --service enrolls, writes the unit, and starts it', async t => {
  const host = await edgeHost(t)

  const joined = await host.join([host.uri, ...host.service])

  t.match(joined, { code: 0, stdout: /client_name/, stderr: /runs as a service: systemctl status/ })
  t.match(readFileSync(host.unit, 'utf8'), /agent run$/m)
  t.strictSame(host.changes(), [
    'daemon-reload',
    'enable sluice-agent.service',
    'restart sluice-agent.service'
  ])
  t.ok(existsSync(join(host.dir, 'state', 'bundle.json')))
  t.equal(await host.clients(), 1)

  t.match(await host.join([host.uri, ...host.service]), { code: 0 }, 'the command may run again')
  t.match(host.changes().at(-1), 'start sluice-agent.service', 'connections of a running agent stay')
  t.equal(await host.clients(), 1, 'the host is the same client')
})

t.test('a unit of a package stays as it is, and is started', async t => {
  const host = await edgeHost(t)

  const joined = await host.join([host.uri, ...host.service], {
    LOADED: '/usr/lib/systemd/system/sluice-agent.service'
  })

  t.match(joined, { code: 0 })
  t.notOk(existsSync(host.unit))
  t.match(host.changes().at(-1), 'restart')
})

t.test('without systemd join enrolls, and its error has the next step', async t => {
  const host = await edgeHost(t)

  const joined = await host.join([host.uri, ...host.service], { SYSTEM: 'offline' })

  t.match(joined, { code: 2, stderr: /enrolled as .*does not run systemd\. Next step: .*sluice agent run/ })
  t.notOk(existsSync(host.unit))
  t.strictSame(host.changes(), [])
  t.equal(await host.clients(), 1)
})

t.test('a service that does not start is an error with the next step', async t => {
  const host = await edgeHost(t)

  const joined = await host.join([host.uri, ...host.service], { BROKEN: '1' })

  t.match(joined, { code: 1, stderr: /enrolled as .*Job failed\..*Next step: journalctl -u/ })
})

t.test('a service that cannot be installed uses up no key, and no error shows the URI', async t => {
  const host = await edgeHost(t)
  const missing = ['--service', '--unit-dir', join(host.dir, 'nowhere')]

  const joined = await host.join([host.uri, ...missing])

  t.match(joined, { code: 2, stderr: /without root: run the same command with sudo/ })
  t.notMatch(joined.stderr, 'svc://')
  t.match(await host.join([host.uri, ...host.service, '--user', 'nosuch']), {
    code: 2,
    stderr: /there is no user nosuch/
  })
  t.equal(await host.clients(), 0)
  t.notOk(existsSync(join(host.dir, 'state')))
})

t.test('join without --service enrolls, and says how to start the agent', async t => {
  const host = await edgeHost(t)

  t.match(await host.join([host.uri]), { code: 0, stderr: 'Next step: sluice agent run' })
  t.strictSame(host.changes(), [])
  t.match(await host.join([]), { code: 2, stderr: /give the URI/ })
})
