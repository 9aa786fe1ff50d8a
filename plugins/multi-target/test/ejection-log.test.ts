import t from 'tap'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type LogLine, recordLog } from '../../../kit/test-server.ts'
import { openEjectionLog } from '../ejection-log.ts'

t.test("the flapping targets of one owner do not keep another owner's out of the log", async t => {
  const clock = fakeClock()
  const log: LogLine[] = []
  const logEjected = openEjectionLog({ clock, log: recordLog(log) })
  const eject = (owner: string, until: number): void => {
    const place = {
      client: 'paris',
      rule: `of ${owner}`,
      name: owner === 'bob' ? null : 'web',
      owner,
      targets: [{ host: 'a', port: 1, priority: 0 }]
    }
    const counts = { consecutive_failures: 1, ejections: 1 }
    const target = { state: 'failed' as const, ...counts, ejected_until_ms: until, ejected_reason: 'refused' }
    logEjected(place, [undefined], [target])
  }
  const rules = (): unknown[] => log.map(({ fields }) => fields['rule'])

  for (let i = 1; i <= 1000; i++) eject('ann', i)
  eject('bob', 1)

  t.same(rules(), [...Array.from({ length: 20 }, () => 'of ann'), 'of bob'])
  await clock.advance(60_000)
  t.match(log.at(-1), { fields: { rule: 'of ann', rule_name: 'web', suppressed: 980 } })
  t.match(log.at(-2), { fields: { rule: 'of bob', rule_name: undefined } })
})
