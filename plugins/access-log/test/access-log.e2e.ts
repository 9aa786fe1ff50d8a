// A real server and agent, real callers, and fail2ban where it is installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, statSync } from 'node:fs'

import { join } from 'node:path'
import t from 'tap'
import { until } from '../../../test/engine/engine-fixture.ts'
import { get } from '../../../test/support/web.ts'
import { openAgent, scan } from './fixture.ts'

const filter = join(import.meta.dirname, '../../../config/fail2ban/filter.d/sluice.conf')
const hasFail2ban = spawnSync('fail2ban-regex', ['--version']).status === 0

type Line = Record<string, unknown>
const linesIn = (file: string): Line[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .flatMap(line => (line ? [JSON.parse(line)] : []))
    : []

async function lines(file: string, count: number): Promise<Line[]> {
  await until(() => linesIn(file).length >= count)
  return linesIn(file)
}

t.test('each connection and each refused caller has a line, and fail2ban finds scanners', async t => {
  const { file, push } = await openAgent(t)
  const [open, named] = [await push(), await push({ sni_pattern: 'one.test' })]

  await get(`http://127.0.0.1:${open}`)
  await lines(file, 1)
  await scan(named, '127.0.0.9')

  const [ended, refused] = await lines(file, 2)
  const common = {
    protocol: 'tcp',
    rule_id: String,
    client_id: String,
    owner: String,
    time: /Z$/,
    opened_at: /Z$/
  }
  t.match(ended, {
    ...common,
    event: 'ended',
    reason: /_closed$/,
    source: /^127\.0\.0\.1:/,
    listen: `127.0.0.1:${open}`,
    target: /^127\.0\.0\.1:/,
    bytes_in: Number,
    bytes_out: Number,
    server_name: null
  })
  t.match(refused, {
    ...common,
    event: 'refused',
    reason: 'sni_miss',
    source: /^127\.0\.0\.9:/,
    listen: `127.0.0.1:${named}`,
    target: null,
    server_name: 'other.test'
  })
  t.equal(statSync(file).mode & 0o777, 0o640)
  if (!hasFail2ban) return t.comment('fail2ban is not installed: the filter is not tried')
  const { stdout } = spawnSync('fail2ban-regex', ['-o', 'ip', file, filter], { encoding: 'utf8' })
  t.equal(stdout.trim(), '127.0.0.9')
})

t.test('SIGHUP reopens a renamed file', async t => {
  const { agent, file, push } = await openAgent(t)
  const port = await push()
  await get(`http://127.0.0.1:${port}`)
  await lines(file, 1)

  renameSync(file, `${file}.1`)
  agent.signal('SIGHUP')
  await until(() => existsSync(file))
  await get(`http://127.0.0.1:${port}`)

  t.equal((await lines(file, 1)).length, 1)
  t.equal(linesIn(`${file}.1`).length, 1)
})

t.test('a flood gets the configured lines per second, and `dropped` lines count the rest', async t => {
  const callers = 20
  const { file, push } = await openAgent(t, 'max_lines_per_sec = 5\n')
  const port = await push({ sni_pattern: 'one.test' })
  await Promise.all(Array.from({ length: callers }, () => scan(port, '127.0.0.9')))

  const missing = (): number => linesIn(file).reduce((sum, { lines = 0 }) => sum + Number(lines), 0)
  const told = (): number => linesIn(file).filter(({ event }) => event === 'refused').length
  await until(() => told() + missing() === callers)
  t.ok(missing() > 0)
})
