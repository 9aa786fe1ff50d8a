// Documents that a token with few scopes applies: each step needs the scope of its route.
import t from 'tap'
import { openDocumentContext } from '../document-context.ts'
import { makePlan } from '../plan.ts'
import { runPlan, type StepReport } from '../run-plan.ts'
import { apiOf, applyFixture, filled } from './apply-fixture.ts'

const reading = ['apply:read', 'client:read', 'user:read', 'rule:read']

t.test('a token for rules applies the rules of a document, and none of its users', async t => {
  const { app } = await applyFixture(t)
  await app.call('POST', '/v1/users', { user_id: 'root', display_name: 'Root', role: 'superadmin' })
  const contextOf = async (scopes: readonly string[]) => {
    const { body } = await app.call<{ token: string }>('POST', '/v1/users/root/credentials', { scopes })
    const headers = { authorization: `Bearer ${body.token}` }
    const call: typeof app.call = (method, url, sent) => app.call(method, url, sent, headers)
    return openDocumentContext({ api: apiOf({ call }), filled })
  }
  const document = {
    users: [{ user_id: 'eve', role: 'superadmin' }],
    rules: [{ client: 'paris', listen_port: 80, targets: [{ host: '10.0.0.1', port: 80 }] }]
  }

  const context = await contextOf([...reading, 'rule:write'])
  const reports: StepReport[] = []
  const { steps } = await makePlan(document, 'keep', context)
  await runPlan(steps, { beforeStep: async () => {}, report: report => reports.push(report) })

  t.match(
    reports.map(({ step: { label }, result, reason }) => [label, result, reason]),
    [
      ['user eve', 'refused', /^scope_required: .*user:write/],
      [/^rule paris/, 'done', '']
    ]
  )
  t.equal((await app.call('GET', '/v1/users/eve')).status, 404)
  t.match((await app.call<object[]>('GET', '/v1/rules')).body, [{ listen_port: 80 }])
})
