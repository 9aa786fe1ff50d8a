import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { type Became, stateSlot } from '../slots.ts'
import { site } from './kit.ts'

t.test('who listens is told of each state that a rule enters, once, and why it failed', async t => {
  const told: Became[] = []
  const listener = definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    needs: { rules: '^1.0.0' },
    fills: [stateSlot.fill(async rule => void told.push(rule))]
  })
  const on = await site(t, { plugins: ['users', 'clients', 'rules', listener] })
  const clientId = await on.enroll()
  const refusing = ({ body }: { body: Readonly<Record<string, unknown>> }) =>
    body['listen_from'] === 81 ? ({ refuse: 'port_in_use' } as const) : 'take'
  await on.connect(clientId, { react: refusing })

  const { body } = await on.push()
  await on.call('DELETE', `/v1/rules/${body.rule_id}`)
  const failed = await on.push({ listen_port: 81 })

  const of = { clientId, owner: '_operator' }
  t.same(told, [
    { ...of, id: body.rule_id, state: 'active', reason: null },
    { ...of, id: body.rule_id, state: 'draining', reason: null },
    { ...of, id: failed.body.error.details['rule_id'], state: 'failed', reason: 'port_in_use' }
  ])
})
