import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import { type StateChange, stateSlot } from '../exports.ts'
import { rulesFixture } from './fixture.ts'

t.test('a listener receives each state change of a rule once, with the reason of a failure', async t => {
  const changes: StateChange[] = []
  const listener = definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    fills: [stateSlot.fill(async (change, em) => afterCommit(em, () => changes.push(change)))]
  })
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', listener] })
  const clientId = await app.enroll()
  const refusing = ({ body }: { body: Readonly<Record<string, unknown>> }) =>
    body['listen_from'] === 81 ? ({ refuse: 'port_in_use' } as const) : 'accept'
  await app.connect(clientId, { react: refusing })

  const { body } = await app.push()
  await app.call('DELETE', `/v1/rules/${body.rule_id}`)
  const failed = await app.push({ listen_port: 81 })

  const ownership = { clientId, owner: '_operator' }
  t.same(changes, [
    { ...ownership, id: body.rule_id, from: 'pending', state: 'active', reason: null },
    { ...ownership, id: body.rule_id, from: 'active', state: 'draining', reason: null },
    {
      ...ownership,
      id: failed.body.error.details['rule_id'],
      from: 'pending',
      state: 'failed',
      reason: 'port_in_use'
    }
  ])
})

t.test('a listener that throws is logged by name, and the push and the removal succeed', async t => {
  const listener = definePlugin({
    name: 'listener',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    fills: [
      stateSlot.fill(async ({ id }, em) => {
        await em.execute('delete from rules where id = ?', [id])
        throw new Error('broken listener')
      })
    ]
  })
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', listener] })
  await app.connect(await app.enroll())

  const { status, body } = await app.push()

  t.equal(status, 201)
  t.match(body, { state: 'active' }, 'its own writes are undone')
  t.match(
    app.log.filter(({ event }) => event === 'rule.listener_failed'),
    [{ fields: { rule: body.rule_id, plugin: 'listener', error: /broken listener/ } }]
  )
  t.equal((await app.call('DELETE', `/v1/rules/${body.rule_id}`)).status, 204)
})
