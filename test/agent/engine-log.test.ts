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
