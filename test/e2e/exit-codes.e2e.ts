// The real program returns every documented exit code except 1 and 75.
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../support/ports.ts'
import { type CommandResult, sluice, start } from '../support/process.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'

const codeOf = ({ stderr }: CommandResult): string => stderr.split(':', 1)[0] ?? ''

t.test(
  'a refused command exits with the exit code of its error, and prints the error code first on standard error',
  async t => {
    const cluster = await testCluster(t)
    const paris = await startAgent(t, cluster, 'paris')
    const lyon = await startAgent(t, cluster, 'lyon')
    lyon.agent.signal('SIGTERM')
    await lyon.agent.exit
    const listener = createServer().listen(0, '127.0.0.1')
    await once(listener, 'listening')
    t.teardown(() => listener.close())
    const address = listener.address()
    const takenPort = String(typeof address === 'object' && address ? address.port : 0)
    const port = String(await freePort())
    const target = '127.0.0.1:9'
    await cluster.json('rule', 'push', 'paris', port, target)

    const table: readonly [number, string, string[]][] = [
      [0, '', ['rule', 'list']],
      [2, 'error', ['rule', 'push', 'paris']],
      [2, 'error', ['rule', 'posh']],
      [2, 'usage', ['rule', 'push', 'paris', 'eighty', target]],
      [3, 'validation.target_host', ['rule', 'push', 'paris', port, '0.0.0.0:1']],
      [3, 'invalid_client_name', ['client', 'rename', paris.clientId, ' ']],
      [4, 'client_not_connected', ['rule', 'push', 'lyon', port, target]],
      [5, 'port_in_use', ['rule', 'push', 'paris', port, target]],
      [5, 'port_in_use', ['rule', 'push', 'paris', takenPort, target]],
      [5, 'client_not_revoked', ['client', 'delete', paris.clientId]],
      [6, 'activation_failed', ['rule', 'push', 'paris', String(await freePort()), '169.254.169.254:80']],
      [8, 'rule_not_found', ['rule', 'show', paris.clientId]],
      [8, 'client_not_found', ['rule', 'push', 'nobody', port, target]]
    ]
    for (const [exit, code, args] of table) {
      const result = await cluster.cli(args)

      t.match(
        { exit: result.code, code: codeOf(result) },
        { exit, code },
        `${args.join(' ')}: ${result.stderr}`
      )
    }
  }
)

t.test('a push exits with 7 if the agent does not answer in time, and the rule is applied later', async t => {
  const cluster = await testCluster(t)
  const { agent } = await startAgent(t, cluster, 'paris')
  const port = await freePort()
  agent.signal('SIGSTOP')

  const late = await cluster.cli([
    'rule',
    'push',
    'paris',
    String(port),
    '127.0.0.1:9',
    '--ack-timeout-secs',
    '1'
  ])

  t.equal(late.code, 7)
  t.equal(codeOf(late), 'ack_timeout')
  t.match(await cluster.json('rule', 'list'), [{ state: 'pending', listen_port: port }])
  agent.signal('SIGCONT')
  await cluster.server.until('rule.active')
  t.match(await cluster.json('rule', 'list'), [{ state: 'active' }])
})

t.test(
  'an unreachable server, a missing superadmin and a token without TLS each have an exit code',
  async t => {
    const cluster = await testCluster(t)
    const nowhere = { SVC_SERVER: `http://127.0.0.1:${await freePort()}`, SVC_TOKEN: 'x' }
    await cluster.json('gen-token')

    t.equal((await sluice(['rule', 'list'], nowhere)).code, 69)
    t.equal((await sluice(['rule', 'list'], { SVC_SERVER: 'http://10.0.0.1', SVC_TOKEN: 'x' })).code, 2)
    const wrong = await sluice(['rule', 'list'], { SVC_SERVER: cluster.origin, SVC_TOKEN: 'wrong' })
    t.equal(wrong.code, 6, 'without a superadmin bootstrap_required comes first')
    t.equal(codeOf(wrong), 'bootstrap_required')
  }
)

t.test(
  'a server with an invalid configuration reports every problem with its remedy, and exits with 78',
  async t => {
    const dir = t.testdir()
    const config = join(dir, 'server.toml')
    writeFileSync(
      config,
      'contol_listen = "127.0.0.1:0"\nlog_level = "loud"\n[plugins.stats]\nenalbed = true\n'
    )
    const bad = start(t, ['server', '--config', config, '--data-dir', join(dir, 'data')])
    t.equal(await bad.exit, 78)
    t.match(bad.output(), /unknown key contol_listen; did you mean control_listen\?/)
    t.match(bad.output(), /log_level must be one of debug, info, warn, error/)
    t.match(bad.output(), /unknown key plugins\.stats\.enalbed/)

    writeFileSync(config, 'operator_token = "a-token-in-a-file-that-everyone-may-read"\n')
    chmodSync(config, 0o644)
    const open = start(t, ['server', '--config', config, '--data-dir', join(dir, 'data')])
    t.equal(await open.exit, 78)
    t.match(open.output(), /startup\.insecure_permissions: .*chmod 600/)

    const busy = createServer().listen(0, '127.0.0.1')
    await once(busy, 'listening')
    t.teardown(() => busy.close())
    const address = busy.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const failed = start(t, ['server', '--data-dir', join(dir, 'data')], {
      SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${port}`,
      SVC_CONTROL_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
    t.equal(await failed.exit, 78)
    t.match(failed.output(), /startup\.listen_failed/)
  }
)
