// fail2ban of the distribution with config/fail2ban, on the log of a real agent.
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../../../test/engine/engine-fixture.ts'
import { spawnChild } from '../../../test/support/child-process.ts'
import { get } from '../../../test/support/web.ts'
import { openAgent, scan } from './fixture.ts'

const ours = join(import.meta.dirname, '../../../config/fail2ban')
const installed = '/etc/fail2ban'
const skipReason =
  spawnSync('fail2ban-server', ['--version']).status === 0 && existsSync(installed)
    ? false
    : 'fail2ban is not installed'

/** Runs fail2ban with the distribution's configuration and ours, for this log; bans are lines of a file. */
function startFail2ban(t: Test, dir: string, log: string) {
  const [config, banned] = [join(dir, 'fail2ban'), join(dir, 'banned')]
  cpSync(installed, config, { recursive: true })
  rmSync(join(config, 'jail.d'), { recursive: true }) // the distribution's own jails
  cpSync(ours, config, { recursive: true })
  writeFileSync(join(config, 'fail2ban.local'), '[DEFAULT]\ndbfile = :memory:\n')
  writeFileSync(join(config, 'action.d/record.conf'), `[Definition]\nactionban = echo '<ip>' >> ${banned}\n`)
  writeFileSync(join(config, 'jail.d/test.conf'), `[sluice]\nlogpath = ${log}\naction = record\n`)
  const short = mkdtempSync(join(tmpdir(), 'fail2ban-')) // a socket's path has at most 107 bytes
  t.teardown(() => rmSync(short, { recursive: true }))
  const files = ['-s', join(short, 'socket'), '-p', join(short, 'pid')]
  const program: ChildProcess = spawnChild(
    'fail2ban-server',
    ['-c', config, ...files, '-f', '--logtarget', join(dir, 'fail2ban.log'), 'start'],
    { stdio: 'ignore' }
  )
  t.teardown(async () => {
    const ended = once(program, 'exit')
    if (program.kill('SIGKILL')) await ended
  })
  return () => {
    if (program.exitCode !== null) throw new Error(`fail2ban has ended with ${program.exitCode}`)
    // The shell makes the file before it writes: only whole lines are bans.
    return existsSync(banned) ? readFileSync(banned, 'utf8').split('\n').slice(0, -1) : []
  }
}

t.test('fail2ban bans only an address that scans', { skip: skipReason, timeout: 60_000 }, async t => {
  const { dir, file, push } = await openAgent(t)
  const [open, named] = [await push(), await push({ sni_pattern: 'one.test' })]
  await get(`http://127.0.0.1:${open}`)
  await until(() => existsSync(file))
  const banned = startFail2ban(t, dir, file)

  await scan(named, '127.0.0.8')
  for (let at = 0; at < 5; at++) await scan(named, '127.0.0.9')
  await until(() => banned().length > 0)

  t.same(banned(), ['127.0.0.9'])
})
