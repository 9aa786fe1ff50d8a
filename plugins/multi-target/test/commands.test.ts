import t from 'tap'
import { columnSlot } from '../../rules/exports.ts'
import { fills } from '../commands.ts'

t.test('rule list shows the health of targets', async t => {
  const column = fills.find(({ slot }) => slot === columnSlot)
  if (!column) throw new Error('there is no column')
  const [, cell] = column.make(() => ({})) as [string, (rule: object) => string] // as the slot has it
  const shown = (...states: readonly string[]) =>
    cell({ targets: states.map(state => ({ health: { state } })) })

  t.equal(shown('healthy', 'healthy'), 'healthy')
  t.equal(shown('failed'), 'failed')
  t.equal(shown('failed', 'healthy', 'unknown'), '1 of 3 failed')
  t.equal(shown('healthy', 'unknown'), 'unknown')
  t.equal(cell({ targets: [{ host: 'a' }] }), 'unknown')

  const failed = (...reasons: readonly string[]) =>
    cell({ targets: reasons.map(reason => ({ health: { state: 'failed', reason } })) })
  t.equal(failed('dns_nxdomain'), 'failed: dns_nxdomain')
  t.equal(failed('refused', 'refused'), 'failed: refused')
  t.equal(failed('refused', 'timeout'), 'failed')
})
