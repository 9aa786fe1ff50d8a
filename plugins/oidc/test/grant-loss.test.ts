// Rules that lose their last grant with a group of the user.
import t, { type Test } from 'tap'
import { openRunningAgent } from '../../../kit/running-agent.ts'
import type { GrantRow } from '../../grants/exports.ts'
import type { RuleRecord } from '../../rules/exports.ts'
import { until } from '../../rules/test/fixture.ts'
import { oidcServer, openBrowser, plugins } from './fixture.ts'

const grant = { client: 'edge', listen_port_start: 8000, listen_port_end: 8099, protocols: ['tcp'] }
const grants = { web: [grant], two: [{ ...grant, listen_port_end: 8010, targets: ['10.0.0.0/8'] }] }
const keep = { grant_loss_keep_secs: 20 }

async function open(t: Test, keys: object = {}) {
  const options = { plugins: [...plugins, 'explain', 'schedule', 'stats'], keys: { ...keys } }
  const { app, provider } = await oidcServer(t, { make_users: true, grants }, options)
  const agent = await openRunningAgent(t, app, 'edge')
  const browser = openBrowser(app)
  const signIn = (...groups: string[]) => {
    provider.claims = { preferred_username: 'ann', groups }
    return browser.signIn(provider)
  }
  await signIn('web')
  const target = { host: '10.0.0.1', port: 80 }
  const pushed = await browser.send('POST', '/v1/rules', {
    client: 'edge',
    listen_port: 8000,
    targets: [target]
  })
  t.equal(pushed.status, 201, pushed.text)
  const { rule_id: id } = pushed.body as unknown as RuleRecord
  const read = async () => (await app.call<RuleRecord>('GET', `/v1/rules/${id}`)).body
  const shown = async () => {
    const { state, state_reason: reason } = await read()
    return [state, reason]
  }
  /** Waits until the agent has closed the rule for these reasons. */
  const closedAs = (...reasons: string[]) =>
    until(
      async () => (await agent.status()).not_in_force.map(({ reason }) => reason),
      found => String(found) === String(reasons)
    )
  const post = (path: string) => browser.send('POST', `/v1/rules/${id}/${path}`)
  const give = (body: object = {}) =>
    app.call<GrantRow>('POST', '/v1/grants', { user_id: 'ann', ...grant, ...body })
  const sweep = async (ms: number) => {
    await app.clock.advance(ms)
    await (
      app.server.depsOf('grants') as unknown as { lostRules: { removeDue(): Promise<void> } }
    ).lostRules.removeDue()
  }
  return { app, agent, id, signIn, read, shown, closedAs, post, give, sweep }
}

const lost = ['paused', 'grant_lost']

t.test('a rule that loses its last grant is closed, and opens when the group returns', async t => {
  const { app, id, signIn, read, shown, closedAs } = await open(t)
  t.same(await shown(), ['active', null])

  await signIn()
  t.same(await shown(), lost)
  t.match(await read(), { rule_id: id, paused: false })
  await closedAs('grant_lost')
  const listed = await app.call<readonly RuleRecord[]>('GET', '/v1/rules?state=paused')
  t.match(listed.body, [{ rule_id: id }])
  t.match((await app.call('POST', '/v1/explain', { client: 'edge', port: 8000, protocol: 'tcp' })).body, {
    outcome: 'refused',
    decided_by: { reason: 'grant_lost' }
  })

  await signIn('web')
  t.same(await shown(), ['active', null])
  await closedAs()
})

t.test('a rule that another grant covers stays open, with the targets of that grant', async t => {
  const { signIn, shown, closedAs, give } = await open(t)
  await signIn('two')
  t.same(await shown(), ['active', null])
  await give()
  await signIn()
  t.same(await shown(), ['active', null])
  await closedAs()
})

t.test('a grant by hand opens the rule again', async t => {
  const { signIn, shown, closedAs, give, sweep } = await open(t, keep)
  await signIn()
  await closedAs('grant_lost')
  await give()
  t.same(await shown(), ['active', null])
  await closedAs()
  await sweep(21_000)
  t.same(await shown(), ['active', null], 'also after the time of its removal')
})

t.test('nobody resumes the rule without a grant that covers it', async t => {
  const { app, id, signIn, shown, closedAs, post, give } = await open(t)
  await signIn()
  const refused = { status: 403, body: { error: { code: 'client_not_granted' } } }
  t.match(await post('resume'), refused)
  t.match(await app.call('POST', `/v1/rules/${id}/resume`), refused, 'not even a superadmin')
  await give({ listen_port_start: 8050 })
  t.match(await post('resume'), { status: 403, body: { error: { code: 'port_outside_grant' } } })
  t.same(await shown(), lost)
  await closedAs('grant_lost')
  await give()
  t.equal((await post('resume')).status, 204)
  t.same(await shown(), ['active', null])
})

t.test('a rule that its user paused stays paused when the grant returns', async t => {
  const { signIn, shown, post } = await open(t)
  t.equal((await post('pause')).status, 204)
  t.same(await shown(), ['paused', 'paused'])
  await signIn()
  t.match(await post('resume'), { status: 403 })
  await signIn('web')
  t.same(await shown(), ['paused', 'paused'])
  t.equal((await post('resume')).status, 204)
  t.same(await shown(), ['active', null])
})

t.test('the rule is removed after grant_loss_keep_secs', async t => {
  const { app, id, signIn, shown, sweep } = await open(t, keep)
  await signIn()
  app.clock.step(604_800_000)
  await sweep(19_000)
  t.same(await shown(), lost, 'a step of the wall clock removes nothing early')
  app.clock.step(-604_800_000)
  await signIn('web')
  await signIn()
  await sweep(2000)
  t.same(await shown(), lost, 'the time begins with the last loss')
  await sweep(19_000)
  t.equal((await app.call('GET', `/v1/rules/${id}`)).status, 404)
  t.match(
    app.decisions.findLast(({ action }) => action === 'rule.delete'),
    { actor: '_oidc', resourceKind: 'rule', resourceId: id, outcome: 'allow' }
  )
})

t.test('with grant_loss_keep_secs = 0 the rule is removed at the sign-in', async t => {
  const { app, id, signIn } = await open(t, { grant_loss_keep_secs: 0 })
  await signIn()
  t.equal((await app.call('GET', `/v1/rules/${id}`)).status, 404)
  t.match(
    app.decisions.findLast(({ action }) => action === 'rule.delete'),
    { actor: '_oidc', resourceId: id }
  )
})

t.test('a rule that an operator placed needs no grant', async t => {
  const { app, id, signIn, shown } = await open(t)
  t.equal((await app.call('PATCH', `/v1/rules/${id}`, { placed_by: 'root' })).status, 200)
  await signIn()
  t.same(await shown(), ['active', null])
})

t.test('the agent keeps the rule closed after its restart, without the server', async t => {
  const { agent, signIn, closedAs } = await open(t)
  await signIn()
  await closedAs('grant_lost')
  await agent.restart()
  await closedAs('grant_lost')
})
