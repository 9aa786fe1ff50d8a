// Notifications of a supervisor over real sockets.
import { chmodSync, existsSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../../kit/record-log.ts'
import { loadModule } from '../../../native/load.ts'
import { openCommandNotifier } from '../notify/command-notifier.ts'
import { notifierOf } from '../notify/notifier-of.ts'
import { takeSupervisor } from '../notify/supervisor.ts'
import { socketPath, supervisorSocket } from './supervisor-socket.ts'

const skip = loadModule().ok ? false : 'the native addon is not built here'

function open(t: Test, address: string, watchdogMs: number | null = null) {
  const clock = fakeClock()
  const log: LogLine[] = []
  const notifier = notifierOf({ address, watchdogMs }, { clock, log: recordLog(log) })
  t.teardown(notifier.close)
  return { notifier, clock, log }
}

const abstractName = (): string => `@sluice-notify-${process.pid}`

t.test('states and the status reach a socket with a path and an abstract one', { skip }, async t => {
  for (const address of [socketPath(t), abstractName()]) {
    const supervisor = await supervisorSocket(t, { address })
    const { notifier } = open(t, address)

    notifier.status('3 agents\nREADY=1')
    notifier.ready()
    notifier.reloading()
    notifier.ready()
    notifier.stopping()

    t.equal(await supervisor.next(), 'STATUS=3 agents READY=1', 'a status is one line')
    t.equal(await supervisor.next(), 'READY=1')
    t.match(await supervisor.next(), /^RELOADING=1 MONOTONIC_USEC=\d+$/)
    t.equal(await supervisor.next(), 'READY=1')
    t.equal(await supervisor.next(), 'STOPPING=1')
  }
})

t.test('the time of a reload is that of the monotonic clock of the system', { skip }, async t => {
  const supervisor = await supervisorSocket(t)
  const { notifier } = open(t, supervisor.address)
  const uptimeSecs = (): number => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])

  notifier.reloading()
  const [, usec] = /MONOTONIC_USEC=(\d+)/.exec(await supervisor.next()) ?? []

  t.ok(Number(usec) / 1e6 <= uptimeSecs() + 0.1, 'uptime is the same or, with time in suspend, later')
  t.ok(Number(usec) > 0)
})

t.test('the watchdog gets a beat at half of its time', { skip }, async t => {
  const supervisor = await supervisorSocket(t)
  const { notifier, clock } = open(t, supervisor.address, 30_000)

  await clock.advance(14_999)
  notifier.ready()
  await clock.advance(1)
  await clock.advance(15_000)

  t.equal(await supervisor.next(), 'READY=1')
  t.equal(await supervisor.next(), 'WATCHDOG=1')
  t.equal(await supervisor.next(), 'WATCHDOG=1')
})

t.test('a full queue does not block, and the last state and status arrive later', { skip }, async t => {
  const supervisor = await supervisorSocket(t, { mode: 'paused' })
  const { notifier, clock, log } = open(t, supervisor.address, 30_000)
  const native = loadModule()
  if (native.ok) while (native.module.notify(supervisor.address, 'X=1') === '');

  notifier.reloading()
  notifier.status('old')
  notifier.status('new')
  notifier.ready()
  await clock.advance(15_000)
  t.match(log, [{ event: 'service.not_notified', fields: { reason: 'EAGAIN' } }], 'logged once')

  supervisor.read()
  await supervisor.until(/X=1/)
  notifier.status('newest')
  for (let text = ''; !/READY=1/.test(text); text = await supervisor.next()) await clock.advance(1000)
  t.pass('READY has arrived')
})

t.test(
  'a supervisor that is gone or misnamed is logged once, and changes nothing else',
  { skip },
  async t => {
    const gone = await supervisorSocket(t)
    await gone.close()
    const addresses = {
      ECONNREFUSED: gone.address,
      ENOENT: '/nonexistent/notify',
      ENAMETOOLONG: `/${'n'.repeat(107)}`,
      EAFNOSUPPORT: 'vsock:2:1234'
    }
    for (const [reason, address] of Object.entries(addresses)) {
      const { notifier, clock, log } = open(t, address, 1000)
      notifier.ready()
      await clock.advance(5000)
      notifier.stopping()
      t.match(log, [{ level: 'warn', event: 'service.not_notified', fields: { reason } }])
      t.equal(log.length, 1, address)
    }
  }
)

t.test('states after the stop are ignored: a reload may end late', { skip }, async t => {
  const supervisor = await supervisorSocket(t)
  const { notifier } = open(t, supervisor.address)

  notifier.stopping()
  notifier.ready()
  notifier.status('end')

  t.equal(await supervisor.next(), 'STOPPING=1')
  t.equal(await supervisor.next(), 'STATUS=end')
})

t.test(
  'the variables are taken out of the environment, and a watchdog of another process is not fed',
  async t => {
    const env = { NOTIFY_SOCKET: '/run/notify', WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7', PATH: '/bin' }

    t.same(takeSupervisor(env, 7), { address: '/run/notify', watchdogMs: 30_000 })
    t.same(env, { PATH: '/bin' })
    t.equal(takeSupervisor(env, 7), null)
    const withPid = (pid: string | undefined, usec: string) =>
      takeSupervisor({ NOTIFY_SOCKET: '@x', WATCHDOG_USEC: usec, WATCHDOG_PID: pid }, 7)?.watchdogMs
    t.equal(withPid('8', '30000000'), null)
    t.equal(withPid(undefined, '2000'), 2)
    for (const usec of ['0', '-1', 'x', '']) t.equal(withPid('7', usec), null)
  }
)

t.test(
  'without the addon, systemd-notify reports start and stop once, and the watchdog is disabled',
  async t => {
    const dir = t.testdir({
      'systemd-notify': '#!/bin/sh\necho "$NOTIFY_SOCKET $@" >> "$0.calls"\nexit $(cat "$0.exit")\n'
    })
    const program = join(dir, 'systemd-notify')
    chmodSync(program, 0o755)
    writeFileSync(`${program}.exit`, '0')
    const path = process.env['PATH']
    process.env['PATH'] = `${dir}:${path}`
    t.teardown(() => {
      process.env['PATH'] = path
    })
    const log: LogLine[] = []
    const logged = Promise.withResolvers<void>()
    const notifier = openCommandNotifier(
      { address: '/run/n', watchdogMs: 30_000 },
      recordLog(log, logged.resolve)
    )
    let changed = Promise.withResolvers<void>()
    const watcher = watch(dir, () => changed.resolve())
    t.teardown(() => watcher.close())
    const calls = async (count: number): Promise<string[]> => {
      for (;;) {
        changed = Promise.withResolvers<void>()
        const text = existsSync(`${program}.calls`) ? readFileSync(`${program}.calls`, 'utf8') : ''
        const lines = text.trim().split('\n')
        if (lines.length >= count && text !== '') return lines
        await changed.promise
      }
    }

    notifier.ready()
    await calls(1)
    notifier.status('nothing')
    notifier.reloading()
    notifier.ready()
    notifier.stopping()

    t.same(await calls(2), ['/run/n READY=1 WATCHDOG_USEC=0', '/run/n STOPPING=1'])
    writeFileSync(`${program}.exit`, '1')
    openCommandNotifier({ address: '/run/n', watchdogMs: null }, recordLog(log, logged.resolve)).ready()
    await logged.promise
    t.match(log, [{ event: 'service.not_notified' }])
  }
)
