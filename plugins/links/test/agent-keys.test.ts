// The key of an agent: its files, and its rotation with the server.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ControlStream } from '../../../agent/plugin.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../../kit/record-log.ts'
import { KeyReporter } from '../agent/key-reporter.ts'
import { openLinkEvents } from '../agent/link-events.ts'
import { LinkKeys } from '../agent/link-keys.ts'

const dayMs = 86_400_000

function openDir(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-keys-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  return dir
}

interface Report {
  readonly pin: string
  readonly next_pin?: string
}

/** An agent with a server that answers its reports. */
function openReporter(t: Test) {
  const clock = fakeClock()
  const lines: LogLine[] = []
  const log = recordLog(lines)
  const stateDir = openDir(t)
  const keys = new LinkKeys({ stateDir, clock, log })
  const reporter = new KeyReporter({ keys, clientId: 'edge', events: openLinkEvents(log, clock), clock, log })
  const reports: Report[] = []
  const server = { neighbors_know_next: false, key_days: 90 }
  const ended = new AbortController()
  const stream = {
    signal: ended.signal,
    async request(_: unknown, report: Report) {
      reports.push(report)
      return { ...server }
    }
  } as unknown as ControlStream
  return { clock, lines, keys, reporter, reports, server, stream, stateDir }
}

t.test('a key survives a restart, and only its owner can read it', async t => {
  const stateDir = openDir(t)
  const options = { stateDir, clock: fakeClock(), log: recordLog([]) }
  const first = new LinkKeys(options)
  first.makeNext()

  const second = new LinkKeys(options)

  t.match(first.pin, /^[0-9a-f]{64}$/)
  t.same([second.pin, second.nextPin], [first.pin, first.nextPin])
  for (const file of ['link.pem', 'link-next.pem'])
    t.equal(statSync(join(stateDir, file)).mode & 0o777, 0o600)
  t.ok(second.switchToNext())
  t.same([second.pin, second.nextPin], [first.nextPin, null])
  t.equal(new LinkKeys(options).pin, first.nextPin)
})

t.test('a damaged key is replaced; one that others may read is refused', async t => {
  const stateDir = openDir(t)
  const lines: LogLine[] = []
  const options = { stateDir, clock: fakeClock(), log: recordLog(lines) }
  const { pin } = new LinkKeys(options)
  const file = join(stateDir, 'link.pem')
  writeFileSync(file, readFileSync(file, 'utf8').slice(0, 300))

  t.not(new LinkKeys(options).pin, pin)
  t.match(lines, [{ event: 'link.key_damaged' }])
  writeFileSync(file, readFileSync(file))
  const { chmodSync } = await import('node:fs')
  chmodSync(file, 0o644)
  t.throws(() => new LinkKeys(options), { name: 'Fault' })
})

t.test('a key is rotated on request: the next one is reported, then used when neighbors know it', async t => {
  const { keys, reporter, reports, stream, clock, lines } = openReporter(t)
  const { pin } = keys
  reporter.connect(stream)
  reporter.rotate()
  await clock.advance(0)
  const next = keys.nextPin ?? ''
  t.same(reports, [{ pin }, { pin, next_pin: next }])

  reporter.switchTo('00'.repeat(32))
  t.equal(keys.pin, pin, 'another pin changes nothing')
  reporter.switchTo(next)
  await clock.advance(0)

  t.equal(keys.pin, next)
  t.same(reports.at(-1), { pin: next })
  t.match(lines, [{ event: 'link.key_rotated', fields: { client: 'edge', fingerprint: next } }])
})

t.test(
  'a key is rotated after link_key_days, and switched a day later even if a neighbor was away',
  async t => {
    const { keys, reporter, reports, stream, clock } = openReporter(t)
    const { pin } = keys
    reporter.connect(stream)
    await clock.advance(0)

    clock.step(89 * dayMs)
    await clock.advance(120_000)
    t.equal(keys.nextPin, null)
    clock.step(dayMs)
    await clock.advance(120_000)
    t.match(reports.at(-1), { pin, next_pin: /^[0-9a-f]{64}$/ })
    const next = keys.nextPin
    clock.step(dayMs)
    await clock.advance(120_000)

    t.equal(keys.pin, next)
    t.same(reports.at(-1), { pin: next })
  }
)

t.test('a key is used at once if the server says that all neighbors know it', async t => {
  const { keys, reporter, server, stream, clock } = openReporter(t)
  server.neighbors_know_next = true
  reporter.connect(stream)
  reporter.rotate()
  await clock.advance(0)

  t.equal(keys.nextPin, null)
})
