// The log events of the code. test/frozen/events.txt lists them all.
import t from 'tap'
import { eventsOfCode } from '../config/build/log-events.ts'

const events = eventsOfCode()

t.test('events that operators rely on exist with their fields', async t => {
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
