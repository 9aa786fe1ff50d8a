// A bundle that two agents use is shown where operators look.
import t, { type Test } from 'tap'
import { connectAgent } from '../../../kit/scripted-agent.ts'
import { type TestServer, testServer } from '../../../kit/test-server.ts'
import { until } from '../../rules/test/fixture.ts'
import type { ClientRow } from '../client-row.ts'
import { insertClients } from './fixture.ts'

const agentOf = ({ server }: TestServer, t: Test, token: string, instanceId: string) => {
  const { port, fingerprint } = server.control
  return connectAgent(t, { port: port(), fingerprint, token, instanceId })
}

const svcConflict = 'svc_client_instance_conflict'

async function conflictIn(app: TestServer): Promise<ClientRow['instance_conflict']> {
  return (await app.call<ClientRow[]>('GET', '/v1/clients')).body[0]?.instance_conflict ?? null
}

t.test('a copied bundle is shown in the row of its client, the audit log and the metrics', async t => {
  const app = await testServer(t, { plugins: ['clients', 'metrics', 'audit', 'users'] })
  const [id = ''] = await insertClients(app, 'edge')
  t.equal(await conflictIn(app), null)

  for (let i = 0; i <= 6; i++) await agentOf(app, t, id, String(i % 2))

  const conflict = await until(
    () => conflictIn(app),
    found => found !== null
  )
  t.match(conflict, { since: '2026-01-15T12:00:00.000Z', remote_addrs: ['127.0.0.1'] })
  t.match((await app.call('GET', '/v1/metrics')).text, `${svcConflict}{client="${id}"} 1`)
  await t.rejects(agentOf(app, t, id, 'copy'), { code: 'instance_conflict' })
  const made = app.decisions.filter(({ action }) => action === 'client.instance_conflict')
  t.match(made, [{ actor: '_clients', authMethod: 'system', resourceKind: 'client', resourceId: id }])
  t.equal(made.length, 1)

  await app.clock.advance(180_001)
  t.equal(await conflictIn(app), null)
  t.notMatch((await app.call('GET', '/v1/metrics')).text, `${svcConflict}{`)
})
