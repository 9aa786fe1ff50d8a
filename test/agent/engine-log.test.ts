import t from 'tap'
import { openEngineLog } from '../../agent/engine/engine-log.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { recordLog } from './recorded-log.ts'

t.test('evicted flows of a rule are logged once in 10 s, with the number of suppressed lines', async t => {
  const clock = fakeClock()
  const log = recordLog()
  const spec = { id: 'rule-1', protocol: 'udp' }
  const logEvent = openEngineLog({ find: () => spec as never }, clock, log)
  const evicted = { kind: 'flow-evicted', ruleId: 1, target: 0, errno: 'ECONNREFUSED' } as const

  for (let i = 0; i < 3; i++) logEvent(evicted)
  await clock.advance(10_000)

  const fields = { rule: 'rule-1', errno_name: 'ECONNREFUSED' }
  t.same(
    log.lines.map(({ event, fields }) => ({ event, fields })),
    [0, 2].map(suppressed => ({ event: 'rule.udp_flow_evicted_icmp', fields: { ...fields, suppressed } }))
  )
})

t.test('flows that leave a silent target are logged once in 10 s', async t => {
  const clock = fakeClock()
  const log = recordLog()
  const targets = [
    { host: 'one.test', port: 53 },
    { host: 'two.test', port: 53 }
  ]
  const logEvent = openEngineLog({ find: () => ({ id: 'rule-1', targets }) as never }, clock, log)
  const addresses = ['192.0.2.1', '192.0.2.2'] as const

  for (let i = 0; i < 3; i++) logEvent({ kind: 'flow-redialed', ruleId: 1, from: 0, to: 1, addresses })
  await clock.advance(10_000)

  const fields = { rule: 'rule-1', old_address: '192.0.2.1', new_address: '192.0.2.2' }
  t.match(log.lines, [
    {
      event: 'rule.udp_flow_redialed',
      message: 'one.test:53 did not answer; the flow goes to two.test:53 (192.0.2.2)',
      fields: { ...fields, suppressed: 0 }
    },
    { fields: { ...fields, suppressed: 2 } }
  ])
})

t.test('the rules of an owner log 21 lines about names in 10 s, and those of another are logged', t => {
  const clock = fakeClock()
  const log = recordLog()
  const find = (id: number) =>
    ({ id: `rule-${id}`, owner: id < 1000 ? 'ann' : 'bob', protocol: 'tcp' }) as never
  const logEvent = openEngineLog({ find }, clock, log)

  for (let ruleId = 0; ruleId <= 1000; ruleId++)
    logEvent({ kind: 'dns-failed', ruleId, host: 'gone.test', reason: 'nxdomain' })

  t.equal(log.lines.length, 22)
  t.match(log.lines.at(-1), { fields: { rule: 'rule-1000' } })
  t.end()
})

t.test('a refused pipe size is logged with the limit of the system, at most once in 10 minutes', async t => {
  const clock = fakeClock()
  const log = recordLog()
  const logEvent = openEngineLog({ find: () => undefined }, clock, log)
  const limit = 'fs.pipe-user-pages-soft'
  const refused = {
    kind: 'pipe-size',
    requestedBytes: 1048576,
    actualBytes: 8192,
    errno: 'EPERM',
    limit
  } as const

  for (let minute = 0; minute < 10; minute++) {
    logEvent(refused)
    await clock.advance(60_000)
  }

  t.match(log.lines, [
    { event: 'proxy.splice_pipe_size_failed', fields: { actual_default_bytes: 8192, limit, suppressed: 0 } },
    { fields: { suppressed: 9 } }
  ])
  t.match(log.lines[0], { message: /8192 bytes.*raise fs.pipe-user-pages-soft/ })
})
