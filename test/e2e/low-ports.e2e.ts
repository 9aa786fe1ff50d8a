// Without CAP_NET_BIND_SERVICE, a low port cannot be opened. The error of the server or agent names the capability.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { spawnChild } from '../support/child-process.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'

const bin = join(import.meta.dirname, '..', '..', 'kernel', 'bin.ts')
const withoutBind = ['--bounding-set', '-net_bind_service', '--inh-caps', '-net_bind_service']
const skip =
  process.getuid?.() === 0 && spawnSync('setpriv', [...withoutBind, 'true']).status === 0
    ? false
    : 'only root can drop a capability, with setpriv (util-linux)'
const hint = /below \d+ need CAP_NET_BIND_SERVICE: .*service install.*setcap cap_net_bind_service=\+ep/

t.test('a server refuses low ports for its listeners', { skip }, async t => {
  const dir = t.testdir({})
  const anyPorts = {
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  }
  for (const key of Object.keys(anyPorts)) {
    const child = spawnChild(
      'setpriv',
      [...withoutBind, process.execPath, bin, 'server', '--data-dir', join(dir, 'data')],
      {
        env: { PATH: process.env['PATH'], HOME: dir, ...anyPorts, [key]: '127.0.0.1:443' },
        stdio: ['ignore', 'ignore', 'pipe']
      }
    )
    let stderr = ''
    child.stderr.on('data', chunk => {
      stderr += chunk
    })
    const [code] = await once(child, 'close')
    t.equal(code, 78) // EX_CONFIG
    t.match(
      stderr,
      new RegExp(`startup\\.listen_failed: ${key.slice(4).toLowerCase()} 127\\.0\\.0\\.1:443: `)
    )
    t.match(stderr, hint, key)
  }
})

t.test('an agent refuses a rule on a low port, with each engine', { skip }, async t => {
  const cluster = await testCluster(t)
  for (const engine of ['native', 'portable']) {
    const { stateDir, agent } = await startAgent(t, cluster, engine)
    agent.signal('SIGTERM')
    await agent.exit
    const earlierEvents = cluster.server.events.length
    const restarted = spawnChild(
      'setpriv',
      [...withoutBind, process.execPath, bin, 'agent', 'run', '--state-dir', stateDir],
      { env: { PATH: process.env['PATH'], SVC_ENGINE: engine }, stdio: 'ignore' }
    )
    t.teardown(() => restarted.kill('SIGKILL'))
    await cluster.server.until('client.connected', ({ client_name }) => client_name === engine, earlierEvents)

    const pushed = await cluster.cli(['rule', 'push', engine, '443', '127.0.0.1:9'])

    t.equal(pushed.code, 6, pushed.stderr) // refused by the agent
    t.match(pushed.stderr, hint, engine)
  }
})
