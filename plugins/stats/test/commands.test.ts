import t from 'tap'
import { toRates } from '../commands.ts'
import type { RuleStats } from '../schema.ts'

t.test('rule stats --watch prints the rates since the previous reading', async t => {
  const stats = { bytes_in: 1000, bytes_out: 0, active_connections: 2, active_flows: 0, connections_total: 7 }
  const reading = (at: number, more: object) =>
    ({ ...stats, ...more, at }) as RuleStats & { readonly at: number }

  const [text, result] = toRates(
    reading(1000, {}),
    reading(6000, { bytes_in: 626_000, bytes_out: 50, active_connections: 3, connections_total: 12 })
  )

  t.equal(text, 'in 1.0 Mbit/s    out 80 bit/s      open 3  new 5')
  t.match(result, { bps_in: 1_000_000, bps_out: 80, new_connections: 5, bytes_in: 626_000 })
  t.notOk('at' in result)
})
