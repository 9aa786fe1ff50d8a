// docs/EVENTS.md lists every log event of the code. TAP_SNAPSHOT=1 rewrites the file.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventsOfCode, type LogEvent } from './support/events.ts'

const file = join(import.meta.dirname, '..', 'docs', 'EVENTS.md')
const events = eventsOfCode()

const head = [
  '# Log events',
  '',
  'Each log line is one JSON object on standard error: `timestamp`, `level`, `event`, `msg`, then the fields. On a terminal it is a',
  'readable line (`log_format`). The test',
  '`test/events.test.ts` makes this table from the code. A field `...` stands for fields that depend on the case, `<name>` in',
  'a message for a value. The only secret in the log is the setup token. Lines are written synchronously: no line is lost when',
  'the process is killed, and a reader that does not read its pipe blocks the process (not the native engine). Lines that a full',
  'disk rejects are kept in memory, at most 1 MiB, and the process continues.',
  '',
  '| Event | Level | By | Fields | Message |',
  '|---|---|---|---|---|'
]

const code = (text: string): string => ['`', text, '`'].join('')

const rowOf = ({ event, level, by, fields, message }: LogEvent): string =>
  ['', code(event), level, by, fields.map(code).join(', '), message, ''].join(' | ').trim()

t.test('docs/EVENTS.md lists every event of the code', async t => {
  const text = [...head, ...new Set(events.map(rowOf).sort()), ''].join('\n')

  if (process.env['TAP_SNAPSHOT'] === '1') writeFileSync(file, text)
  t.equal(text, readFileSync(file, 'utf8'))
})

t.test('the events that operators rely on exist, with their fields', async t => {
  const expected: readonly [string, ...string[]][] = [
    ['control.tls_pinned_mismatch', 'expected', 'got'],
    ['client.disconnected', 'reason'],
    ['auth.failure', 'reason'],
    ['rule.dns_failed', 'rule', 'host', 'reason'],
    ['rule.udp_dns_failed', 'rule', 'host', 'reason'],
    ['rule.udp_flow_evicted_icmp'],
    ['proxy.splice_selected'],
    ['proxy.splice_unsupported_fallback', 'errno_name'],
    ['proxy.splice_pipe_size_failed', 'requested_bytes', 'actual_default_bytes', 'errno_name'],
    ['traffic_quota.applied_set'],
    ['startup.plain_http'],
    ['startup.weak_operator_token'],
    ['client.instance_conflict'],
    ['rule.unsupported'],
    ['accounting.gap']
  ]

  for (const [name, ...fields] of expected) {
    const found = events.filter(({ event }) => event === name)
    t.ok(found.length > 0, name)
    for (const event of found)
      t.same(
        fields.filter(field => !event.fields.includes(field)),
        [],
        `${name} of ${event.by} has its fields`
      )
  }
})

t.test('an event name is lower-case words joined by dots, and has one level', async t => {
  for (const [event, found] of Map.groupBy(events, ({ event }) => event)) {
    t.match(event, /^[a-z_]+(\.<?[a-z_]+>?)+$/)
    t.equal(new Set(found.map(({ level }) => level)).size, 1, `${event} is always ${found[0]?.level}`)
  }
})

t.test('no event contains a secret, except the setup token', async t => {
  const secret = /token|password|secret|cookie|private|authorization/
  const found = events.flatMap(({ event, fields, message }) =>
    [...fields, ...(message.match(/<.*?>/g) ?? [])]
      .filter(part => secret.test(part))
      .map(part => `${event} ${part}`)
  )

  t.same(found, ['onboarding.setup_token <secret>', 'console.setup <token>'])
})
