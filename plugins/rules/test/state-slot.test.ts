import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { type StateChange, stateSlot } from '../exports.ts'
import { rulesFixture } from './fixture.ts'

t.test('a listener receives each state change of a rule once, with the reason of a failure', async t => {
  const changes: StateChange[] = []
  const listener = definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    needs: { rules: '^1.0.0' },
    fills: [stateSlot.fill(async rule => void changes.push(rule))]
  })
  const on = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', listener] })
  const clientId = await on.enroll()
  const refusing = ({ body }: { body: Readonly<Record<string, unknown>> }) =>
    body['listen_from'] === 81 ? ({ refuse: 'port_in_use' } as const) : 'take'
  await on.connect(clientId, { react: refusing })

  const { body } = await on.push()
  await on.call('DELETE', `/v1/rules/${body.rule_id}`)
  const failed = await on.push({ listen_port: 81 })

  const of = { clientId, owner: '_operator' }
  t.same(changes, [
    { ...of, id: body.rule_id, state: 'active', reason: null },
    { ...of, id: body.rule_id, state: 'draining', reason: null },
    { ...of, id: failed.body.error.details['rule_id'], state: 'failed', reason: 'port_in_use' }
  ])
})

t.test('a listener that throws is logged by name, and the push and the removal succeed', async t => {
  const listener = definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    needs: { rules: '^1.0.0' },
    fills: [
      stateSlot.fill(async ({ id }, em) => {
        await em.execute('delete from rules where id = ?', [id])
        throw new Error('no such ear')
      })
    ]
  })
  const on = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', listener] })
  await on.connect(await on.enroll())

  const { status, body } = await on.push()

  t.equal(status, 201)
  t.match(body, { state: 'active' }, 'what it wrote is undone')
  t.match(
    on.log.filter(({ event }) => event === 'rule.listener_failed'),
    [{ fields: { rule: body.rule_id, plugin: 'listener', error: /no such ear/ } }]
  )
  t.equal((await on.call('DELETE', `/v1/rules/${body.rule_id}`)).status, 204)
})
