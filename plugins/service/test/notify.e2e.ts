// Real servers and agents under a supervisor that receives their notifications.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setInterval } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { loadModule } from '../../../native/load.ts'
import { sluice, start } from '../../../test/support/process.ts'
import { startAgent, testCluster } from '../../../test/support/test-cluster.ts'
import { type SupervisorSocket, socketPath, supervisorSocket } from './supervisor-socket.ts'

const skip = loadModule().ok ? false : 'the native addon is not built here'
const watchdogUsec = 400_000

const envOf = ({ address }: Pick<SupervisorSocket, 'address'>) => ({
  NOTIFY_SOCKET: address,
  WATCHDOG_USEC: String(watchdogUsec)
})

/** Returns the states of the first datagrams, without status and watchdog. */
async function states(supervisor: SupervisorSocket, count: number): Promise<string[]> {
  const found: string[] = []
  while (found.length < count)
    found.push(
      ...(await supervisor.next()).split(' ').filter(word => /^(READY|RELOADING|STOPPING)=/.test(word))
    )
  return found
}

async function serverUnder(t: Test, supervisor: SupervisorSocket) {
  const dir = t.testdir({ 'server.toml': '' })
  const server = start(t, ['server', '--data-dir', join(dir, 'data'), '--config', join(dir, 'server.toml')], {
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0',
    ...envOf(supervisor)
  })
  return server
}

t.test('a server is ready once it listens, reports reloads and the stop, and its loop', { skip }, async t => {
  const supervisor = await supervisorSocket(t)
  const server = await serverUnder(t, supervisor)

  t.same(await states(supervisor, 1), ['READY=1'])
  const { origin } = await server.until('server.started')
  t.equal((await fetch(`${origin}/livez`)).status, 200)
  t.match(await supervisor.until(/STATUS/), /STATUS=0 agents connected; 0 rules active/)
  await supervisor.until(/WATCHDOG=1/)

  server.signal('SIGHUP')
  t.same(await states(supervisor, 2), ['RELOADING=1', 'READY=1'])
  t.equal(server.count('server.reloaded'), 1)

  server.signal('SIGTERM')
  t.same(await states(supervisor, 1), ['STOPPING=1'])
  t.equal(await server.exit, 0)
  t.equal(server.count('service.not_notified'), 0)
})

t.test('a server that hangs sends no beats until it continues', { skip }, async t => {
  const supervisor = await supervisorSocket(t)
  const server = await serverUnder(t, supervisor)
  await supervisor.until(/WATCHDOG=1/)

  server.signal('SIGSTOP')
  const beats = await beatsDuring(supervisor, 8)
  server.signal('SIGCONT')
  await supervisor.until(/WATCHDOG=1/)

  t.ok(beats <= 1, 'at most the beat that was under way')
})

/** Counts the beats of the server while this process sends as many at the same interval. */
async function beatsDuring({ address, next }: SupervisorSocket, count: number): Promise<number> {
  const native = loadModule()
  if (!native.ok) throw new Error(native.reason)
  let beats = 0
  for await (const _ of setInterval(watchdogUsec / 2000)) {
    native.module.notify(address, 'OWN=1')
    for (let text = await next(); text !== 'OWN=1'; text = await next()) if (/WATCHDOG=1/.test(text)) beats++
    if (--count === 0) return beats
  }
  return beats
}

t.test('an agent is ready without its server, and shows the server once connected', { skip }, async t => {
  const cluster = await testCluster(t)
  const first = await startAgent(t, cluster, 'paris')
  first.agent.signal('SIGTERM')
  await first.agent.exit
  cluster.server.signal('SIGTERM')
  await cluster.server.exit

  const supervisor = await supervisorSocket(t)
  const agent = start(t, ['agent', 'run', '--state-dir', first.stateDir], envOf(supervisor))
  t.match(await supervisor.next(), /STATUS=not connected to a server; 0 rules open/)
  t.same(await states(supervisor, 1), ['READY=1'])
  await cluster.restart()
  t.match(
    await supervisor.until(/STATUS=connected/),
    new RegExp(`connected to 127.0.0.1:${cluster.controlPort}; 0 rules`)
  )
  await supervisor.until(/WATCHDOG=1/)

  agent.signal('SIGHUP')
  t.same(await states(supervisor, 2), ['RELOADING=1', 'READY=1'])
  agent.signal('SIGTERM')
  t.same(await states(supervisor, 1), ['STOPPING=1'])
  t.equal(await agent.exit, 0)
})

t.test('a server that cannot start never says that it is ready', { skip }, async t => {
  const supervisor = await supervisorSocket(t)
  const dir = t.testdir()
  const refused = await sluice(['server', '--data-dir', dir], {
    SVC_CONTROL_LISTEN: 'nowhere',
    ...envOf(supervisor)
  })
  t.equal(refused.code, 78)

  const second = await serverUnder(t, supervisor)
  t.same(await states(supervisor, 1), ['READY=1'], 'the first one sent nothing')
  second.signal('SIGTERM')
  t.same(await states(supervisor, 1), ['STOPPING=1'])
})

t.test('the agent of `sluice up` does not speak for the server', { skip }, async t => {
  const supervisor = await supervisorSocket(t, { address: socketPath(t) })
  const dir = t.testdir()
  const up = start(t, ['up', '--data-dir', join(dir, 'data')], {
    SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
    SVC_CONTROL_LISTEN: '127.0.0.1:0',
    ...envOf(supervisor)
  })
  await supervisor.until(/READY=1/)
  await up.until('control.connected')

  const children = readFileSync(`/proc/${up.pid}/task/${up.pid}/children`, 'utf8').trim().split(' ')
  t.ok(children.length > 0)
  for (const pid of children)
    t.notMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /NOTIFY_SOCKET|WATCHDOG_/)
  up.signal('SIGTERM')
  t.equal(await up.exit, 0)
})
