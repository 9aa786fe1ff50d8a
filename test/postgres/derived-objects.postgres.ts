// Objects that a plugin derives from rules, while the clients of a rule are at different servers.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { offerPublicModules } from '../../kernel/platform/plugins/import-plugin.ts'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { acceptingScript } from '../../kit/accepting-agent.ts'
import { connectAgent, type Script, scriptedResponse } from '../../kit/scripted-agent.ts'
import { makeCertificate } from '../../plugins/certificate/make-certificate.ts'
import { objectMessages, targetFieldMessage } from '../../plugins/public.ts'
import { RulePush } from '../../plugins/rules/wire.ts'
import { awaitServer, until } from '../support/await-server.ts'
import { start } from '../support/process.ts'
import { makeCluster } from './cluster.ts'

offerPublicModules()
const { field, notice } = await import('../third-party/relay-label/field.ts') // needs the modules of the line above
const { push: NoticePush, remove: NoticeRemove } = objectMessages(notice)

const cluster = await makeCluster()
t.teardown(cluster.remove)
cluster.start()
const operator = 'operator-token-of-the-end-to-end-suite-0123456789'
const { cert, key } = await makeCertificate([])

const capable: Partial<Script> = {
  capabilities: { [field.capability.id]: field.capability.since },
  messages: [targetFieldMessage(field), NoticePush, NoticeRemove, NoticePush.response],
  responses: [
    scriptedResponse(NoticePush, ({ id, revision }) => ({ id, revision })),
    scriptedResponse(NoticeRemove, ({ id, revision }) => ({ id, revision }))
  ]
}

/** Two servers with the plugin on one database, and a client at each. */
async function fixture(t: Test) {
  const name = `test_${newId(0).slice(-8).toLowerCase()}`
  await runAt(cluster.at('postgres'), [`create database ${name}`])
  const place = cluster.at(name)
  const dir = t.testdir()
  const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem'), config: join(dir, 'sluice.toml') }
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key, { mode: 0o600 })
  writeFileSync(files.config, `[plugins."${join(import.meta.dirname, '../third-party/relay-label')}"]\n`)

  async function server(id: string) {
    const data = join(dir, id)
    mkdirSync(data, { mode: 0o700 })
    const child = start(t, ['server', '--config', files.config, '--data-dir', data], {
      SVC_TLS_CERT_PATH: files.cert,
      SVC_TLS_KEY_PATH: files.key,
      SVC_STORE_URL: place.url,
      SVC_SERVER_ID: id,
      SVC_OPERATOR_TOKEN: operator,
      SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
      SVC_CONTROL_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0'
    })
    return awaitServer(child, operator)
  }

  async function client(name: string, to: Awaited<ReturnType<typeof server>>, script: Partial<Script> = {}) {
    const id = newId(Date.now())
    await runAt(place, [
      `insert into kernel_client (id, name, token_hash, revision, enrolled_at) values ('${id}', '${name}', '${hashOf(id)}', 0, 1)`
    ])
    const own = await acceptingScript({ ...capable, ...script })
    return { id, agent: await connectAgent(t, { ...to.at, token: id, ...own }) }
  }

  return { server, client }
}

const ruleVia = (relay: string, label: string) => ({
  client: 'edge',
  listen_port: 8080,
  targets: [{ host: '127.0.0.1', port: 80, relay: { client_id: relay, label } }]
})

t.test('a rule waits for a client at another server, and its refusal undoes a change', async t => {
  const { server, client } = await fixture(t)
  const a = await server('a')
  const b = await server('b')
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const { promise: second, resolve: refuse } = Promise.withResolvers<{ refuse: string }>()
  const reactions = [answered, second]
  const edge = await client('edge', b)
  const relay = await client('relay', a, {
    react: ({ name }) => (name === NoticePush.name ? (reactions.shift() ?? 'accept') : 'accept')
  })
  for (const one of [a, b])
    for (const { id } of [edge, relay])
      await until(
        () => one.call('GET', `/v1/clients/${id}`),
        ({ body }) => body.connected
      )

  const made = b.call('POST', '/v1/rules', ruleVia(relay.id, 'blue'))
  await relay.agent.until(NoticePush.name)
  t.notOk(edge.agent.received.some(({ name }) => name === RulePush.name))
  answer()
  const { status, body } = await made
  t.match([status, body], [201, { state: 'active' }])

  const { targets } = ruleVia(relay.id, 'red')
  const changed = a.call('PATCH', `/v1/rules/${body.rule_id}`, { targets })
  await relay.agent.until(NoticePush.name, 2)
  refuse({ refuse: 'denied_by_relay' })
  t.match(await changed, {
    status: 422,
    body: {
      error: { code: 'activation_failed', details: { reason: 'denied_by_relay', client_id: relay.id } }
    }
  })
  t.match(await b.call('GET', `/v1/rules/${body.rule_id}`), {
    body: { state: 'active', change_pending: false, targets: [{ relay: { label: 'blue' } }] }
  })
})
