// The documents of the corpora, on a real server with agents that accept every rule.
import t, { type Test } from 'tap'
import { testAgent, testServer } from '../../../kit/public.ts'
import { convertFixture, fixtures } from './fixtures.ts'

interface RuleReply {
  readonly state: string
  readonly error?: { readonly code: string; readonly message: string }
}

/** A server with the clients of all corpora. Each can be on a path. */
async function serverWithClients(t: Test) {
  const app = await testServer(t)
  const clients = new Set(fixtures.flatMap(fixture => convertFixture(fixture).report.clients))
  for (const name of clients) await testAgent(t, app, name)
  const { body: rows } = await app.call<{ client_id: string }[]>('GET', '/v1/clients')
  for (const { client_id } of rows)
    await app.call('PATCH', `/v1/clients/${client_id}`, { link: { port: 64_444 } })
  return app
}

t.test('the server accepts every rule of every corpus', async t => {
  const app = await serverWithClients(t)

  for (const fixture of fixtures) {
    const { rules } = convertFixture(fixture)
    const check = await app.call<{ rules: readonly object[] }>('POST', '/v1/apply-checks', { rules })
    t.equal(check.status, 200, `${fixture.name}: ${check.text}`)
    t.equal(check.body.rules.length, rules.length)
    if (fixture.source === 'gost' && fixture.name.endsWith('.json')) continue // shares its client with the YAML file
    for (const rule of rules) {
      const { status, body, text } = await app.call<RuleReply>('POST', '/v1/rules', rule)
      const state = rule['paused'] === true ? 'paused' : 'active'
      t.same({ status, state: body.state }, { status: 201, state }, `${fixture.name}: ${text}`)
    }
  }
})

t.test('rules have the owner of --owner, and the client of --client', async t => {
  const app = await serverWithClients(t)
  await app.as({ user: 'ann' })('GET', '/v1/users/me')
  const [rule] = fixtures
    .filter(({ name }) => name === 'realm/edge.toml')
    .flatMap(fixture => convertFixture(fixture, { owner: 'ann' }).rules)

  const { status, body } = await app.call<{ owner: string }>('POST', '/v1/rules', {
    ...rule,
    placed_by: '_operator'
  })

  t.same([status, body.owner], [201, 'ann'])
})
