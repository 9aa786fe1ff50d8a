// A primary dies and a standby without the last changes takes over, while the server runs or dies as well.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { openRunningAgent } from '../../kit/running-agent.ts'
import { connectAgent } from '../../kit/scripted-agent.ts'
import { insertClient, type TestServer, testServer } from '../../kit/test-server.ts'
import { expectFound, freePorts, runCheck } from '../../plugins/doctor/test/provoke-findings.ts'
import { freePort } from '../support/ports.ts'
import { privateDir } from '../support/private-dir.ts'
import { start } from '../support/process.ts'
import { token } from '../support/test-cluster.ts'
import { type Pair, pairOf, untilTrue } from './pair.ts'

const operating = join(import.meta.dirname, '..', '..', 'docs', 'OPERATING.md')

const generationOf = async ({ at }: Pair): Promise<string> => {
  const client = new pg.Client(at('sluice').url)
  await client.connect()
  const { rows } = await client.query(`select value from kernel_store_value where name = 'generation'`)
  await client.end()
  return rows[0].value
}

/** Retries until the store is back; every answer before that is 503. */
async function untilBack(app: TestServer): Promise<void> {
  for (;;) {
    const { status } = await app.call('GET', '/v1/users')
    if (status === 200) return
    if (status !== 503) throw new Error(`the answer was ${status}`)
    await wait(50)
  }
}

const bearer = (value: string) => ({ authorization: `Bearer ${value}` })
const ruleOn = (listenPort: number) => ({
  client: 'paris',
  listen_port: listenPort,
  targets: [{ host: '10.0.0.1', port: 80 }]
})

t.test('after failover to a stale standby revocations hold, and agents get a full comparison', async t => {
  const pair = await pairOf(t)
  const app = await testServer(t, { keys: { store_url: pair.url } })
  const make = async (id: string, body: object = {}) => {
    await app.call('POST', '/v1/users', { user_id: id, display_name: id, ...body })
    const { body: made } = await app.call<{ token: string; credential_id: string }>(
      'POST',
      `/v1/users/${id}/credentials`,
      {}
    )
    return made
  }
  const [ann, bob, carl, dora] = [
    await make('ann', { initial_password: 'first-password-of-ann', password_change_required: false }),
    await make('bob'),
    await make('carl', { role: 'superadmin' }),
    await make('dora')
  ]
  await make('root', { role: 'superadmin' })
  const eve = await make('eve')
  const agent = await openRunningAgent(t, app, 'paris')
  const { control } = app.server
  const lost = await insertClient(app, 'lost')
  const scripted = (clientToken: string) =>
    connectAgent(t, { port: control.port(), fingerprint: control.fingerprint, token: clientToken })
  const granted = await app.call<{ grant_id: string }>('POST', '/v1/grants', {
    user_id: 'bob',
    client_id: '*',
    listen_port_start: 1,
    listen_port_end: 9,
    protocols: ['tcp']
  })
  t.equal(granted.status, 201)
  t.match(await app.call('POST', '/v1/rules', ruleOn(8001)), { status: 201, body: { state: 'active' } })
  const signIn = (password: string) =>
    app.call('POST', '/v1/auth/login', { user_id: 'ann', password }, { authorization: '' })
  t.equal((await signIn('first-password-of-ann')).status, 200)
  const before = await generationOf(pair)

  await pair.detach()
  t.match(await app.call('POST', '/v1/rules', ruleOn(8002)), { status: 201, body: { state: 'active' } })
  t.equal((await app.call('POST', `/v1/clients/${lost}/revoke`)).status, 204)
  t.equal((await app.call('DELETE', `/v1/users/ann/credentials/${ann.credential_id}`)).status, 204)
  const rotated = await app.call<{ token: string }>(
    'POST',
    `/v1/users/eve/credentials/${eve.credential_id}/rotate`
  )
  t.equal(rotated.status, 201)
  t.equal((await app.call('PATCH', '/v1/users/bob', { disabled: true })).status, 200)
  t.equal((await app.call('PATCH', '/v1/users/carl', { role: 'user' })).status, 200)
  t.equal((await app.call('DELETE', '/v1/users/dora')).status, 200)
  t.equal((await app.call('DELETE', `/v1/grants/${granted.body.grant_id}`)).status, 200)
  const reset = { new_password: 'second-password-of-ann', temporary: false, keep_api_tokens: true }
  t.equal((await app.call('POST', '/v1/users/ann/password', reset)).status, 200)
  t.equal(agent.engine.rules.size, 2)
  const opened = agent.engine.opened.length

  pair.failOver()
  await untilBack(app)

  t.equal((await app.call('GET', '/v1/users/me', undefined, bearer(ann.token))).status, 401)
  t.match(await app.call('GET', '/v1/users/me', undefined, bearer(bob.token)), {
    status: 401,
    body: { error: { code: 'user_disabled' } }
  })
  t.match(await app.call('GET', '/v1/users/me', undefined, bearer(carl.token)), { body: { role: 'user' } })
  t.equal((await app.call('GET', '/v1/users/me', undefined, bearer(dora.token))).status, 401)
  t.equal((await app.call('GET', '/v1/users/me', undefined, bearer(eve.token))).status, 401)
  t.equal((await app.call('GET', '/v1/users/me', undefined, bearer(rotated.body.token))).status, 200)
  t.same((await app.call('GET', '/v1/grants')).body, [])
  t.equal((await signIn('first-password-of-ann')).status, 401)
  t.equal((await signIn('second-password-of-ann')).status, 200)
  await t.rejects(scripted(lost), { code: 'token_revoked' })

  t.not(await generationOf(pair), before)
  await agent.connected()
  t.ok(agent.log.some(({ fields }) => fields['reason'] === 'store_restored'))
  while (agent.engine.rules.size > 1) await wait(20)
  t.same(
    [...agent.engine.rules.values()].map(({ from }) => from),
    [8001],
    'the rule that the standby lacks was removed'
  )
  t.equal(agent.engine.opened.length, opened, 'the other one was not reopened')
  t.match(
    app.log.filter(({ event }) => event === 'store.restored'),
    [
      {
        level: 'warn',
        fields: { cluster: /\/00000002$/, cluster_before: /\/00000001$/, revoked_again: 8 }
      }
    ]
  )
  t.equal((await app.call('POST', '/v1/rules', ruleOn(8003))).status, 201)

  const after = await generationOf(pair)
  await app.restart()
  t.equal(await generationOf(pair), after, 'a restart is not a restore')
})

t.test('the last revocations of a killed server hold when it starts on the standby', async t => {
  const pair = await pairOf(t)
  const dir = join(t.testdir(), 'data')
  const api = await freePort()
  const serve = () =>
    start(t, ['server', '--data-dir', dir], {
      SVC_STORE_URL: pair.url,
      SVC_OPERATOR_TOKEN: token,
      SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${api}`,
      SVC_CONTROL_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
  const call = async (method: string, path: string, body?: object, by = token) => {
    const reply = await fetch(`http://127.0.0.1:${api}${path}`, {
      method,
      headers: { ...bearer(by), ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) })
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? null : JSON.parse(text) }
  }
  const server = serve()
  await server.until('server.started')
  await call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann', role: 'superadmin' })
  const { body: first } = await call('POST', '/v1/users/ann/credentials', {})
  const { body: second } = await call('POST', '/v1/users/ann/credentials', {})
  t.equal((await call('GET', '/v1/users/me', undefined, first.token)).status, 200)
  t.equal((await call('DELETE', `/v1/users/ann/credentials/${second.credential_id}`)).status, 204)

  await pair.detach()
  t.equal((await call('DELETE', `/v1/users/ann/credentials/${first.credential_id}`)).status, 204)
  server.signal('SIGKILL')
  await server.exit
  pair.failOver()
  const next = serve()
  await next.until('server.started')

  t.match(await next.until('store.restored'), { revoked_again: 1 })
  t.equal((await call('GET', '/v1/users/me', undefined, first.token)).status, 401)
  next.signal('SIGTERM')
  t.equal(await next.exit, 0)
})

t.test(
  'doctor warns of a possibly stale standby and of settings that risk data at a power failure',
  async t => {
    const pair = await pairOf(t)
    const args = ['doctor', '--data-dir', privateDir(t, {})]
    const env = { ...freePorts, SVC_STORE_URL: pair.url }
    await expectFound(t, args, env, {
      'store.unsynced': /fsync and full_page_writes/,
      'store.standby': /1 standby follows, and synchronous_standby_names is empty/
    })

    const remedy = readFileSync(join(import.meta.dirname, 'synchronous.sql'), 'utf8')
    t.ok(readFileSync(operating, 'utf8').includes(`\`\`\`sql test/postgres/synchronous.sql\n${remedy}\`\`\``))
    const statements = [`alter system set fsync = on;`, `alter system set full_page_writes = on;`, remedy]
    for (const statement of statements.join('').split(';').slice(0, -1)) await pair.primary.query(statement)
    await untilTrue(pair.primary, `select current_setting('synchronous_standby_names') <> '' as yes`)

    t.same(
      (await runCheck('store', {}, { keys: { store_url: pair.url } })).map(finding => 'ok' in finding),
      [true]
    )
  }
)
