// Circles over scripted agents, which all connect from one address unless a test says otherwise.
import t, { type Test } from 'tap'
import { plugins as builtin } from '../../../config/plugins.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import type { DoctorContext } from '../../cli/check-exports.ts'
import { type RulesFixture, rulesFixture } from '../../rules/test/fixture.ts'
import { loopCheck } from '../doctor-check.ts'
import { storedGraph } from '../stored-graph.ts'

const sqliteOnly = notOnPostgres('it reads query plans of SQLite')

interface Entry {
  readonly kind: string
  readonly to: unknown
}

const plugins = Object.keys(builtin)
const capabilities = { 'rule.sni': '0.9.0', 'rule.udp': '0.4.0', 'rule.update': '2.1.0' }

interface Fixture extends RulesFixture {
  /** Forwards a port of a client to a host and port; returns the id of the rule. */
  forward(client: string, listen_port: number, target: string, more?: object): Promise<string>
  circles(): readonly unknown[]
  /** Returns the journal entries about circles. */
  journal(id: string): Promise<readonly Entry[]>
}

/** Connects agents from these local addresses, by the names of their clients. */
async function fixture(t: Test, agents: Readonly<Record<string, string>>): Promise<Fixture> {
  const app = await rulesFixture(t, { plugins })
  for (const [name, localAddress] of Object.entries(agents))
    await app.connect(await app.enroll(name), { localAddress, capabilities })
  return {
    ...app,
    async forward(client, listen_port, target, more = {}) {
      const [host = '', port] = target.split(':')
      const targets = [{ host, port: Number(port) }]
      const { status, body, text } = await app.push({ client, listen_port, targets, ...more })
      t.equal(status, 201, text)
      return body.rule_id
    },
    circles: () => app.log.filter(({ event }) => event === 'rule.loop').map(({ fields }) => fields['rules']),
    async journal(id) {
      return (await app.call<Entry[]>('GET', `/v1/rules/${id}/journal?kind=loop`)).body
    }
  }
}

const two = { paris: '127.0.0.1', lyon: '127.0.0.1' }
const three = { paris: '127.0.0.1', lyon: '127.0.0.2', nice: '127.0.0.3' }

const setAddress = ({ call }: Fixture, client: string, address: string) =>
  call('PATCH', `/v1/clients/${client}`, { address })

async function addressClients(app: Fixture): Promise<void> {
  const { body } = await app.call<{ client_id: string; client_name: string }[]>('GET', '/v1/clients')
  for (const { client_id, client_name } of body)
    t.equal((await setAddress(app, client_id, `${client_name}.example`)).status, 200)
}

t.test('a rule that closes a circle over two agents of one host is logged and in its journal', async t => {
  const app = await fixture(t, two)

  const first = await app.forward('paris', 8080, '127.0.0.1:8081')
  t.same(app.circles(), [])
  const second = await app.forward('lyon', 8081, '127.0.0.1:8080')

  t.same(app.circles(), [[second, first]])
  t.match(await app.journal(second), [{ kind: 'loop', from: null, to: [second, first], cause: 'loop' }])
  t.same(await app.journal(first), [])
})

t.test('a circle over three agents is found by the addresses of their clients', async t => {
  const app = await fixture(t, three)
  await addressClients(app)

  const paris = await app.forward('paris', 8080, 'lyon.example:8081')
  const lyon = await app.forward('lyon', 8081, 'nice.example:8082')
  const nice = await app.forward('nice', 8082, 'paris.example:8080')

  t.same(app.circles(), [[nice, paris, lyon]])
})

t.test('chains, other ports, other hosts and UDP against TCP are no circle', async t => {
  const app = await fixture(t, three)
  await addressClients(app)

  await app.forward('paris', 8080, 'lyon.example:8081')
  await app.forward('lyon', 8081, 'nice.example:8082')
  await app.forward('nice', 8082, 'paris.example:8083')
  await app.forward('nice', 8083, '127.0.0.1:8080')
  await app.forward('paris', 9000, 'lyon.example:9000')
  await app.forward('lyon', 9000, 'paris.example:9000', { protocol: 'udp' })

  t.same(app.circles(), [])
})

t.test('a change that closes a circle is reported once, also if it changes port and target', async t => {
  const app = await fixture(t, two)
  const first = await app.forward('paris', 8080, '127.0.0.1:8081')
  const second = await app.forward('lyon', 9000, '10.0.0.1:80')

  const change = { listen_port: 8081, targets: [{ host: 'localhost', port: 8080 }] }
  const { status, text } = await app.call('PATCH', `/v1/rules/${second}`, change)

  t.equal(status, 200, text)
  t.same(app.circles(), [[second, first]])
  t.equal((await app.journal(second)).length, 1)
  await app.call('PATCH', `/v1/rules/${second}`, { labels: { env: 'test' } })
  t.equal(app.circles().length, 1)
})

t.test('a paused rule closes a circle when it is resumed', async t => {
  const app = await fixture(t, two)
  const first = await app.forward('paris', 8080, '127.0.0.1:8081')
  const second = await app.forward('lyon', 8081, '127.0.0.1:8080', { paused: true })
  t.same(app.circles(), [])

  await app.call('PATCH', `/v1/rules/${second}`, { paused: false })

  t.same(app.circles(), [[second, first]])
})

t.test('a member of a group rule closes a circle', async t => {
  const app = await fixture(t, two)
  const first = await app.forward('paris', 8080, '127.0.0.1:8081')
  const { body } = await app.call<{ client_id: string; client_name: string }[]>('GET', '/v1/clients')
  const ids = body.flatMap(({ client_id, client_name }) => (client_name === 'lyon' ? [client_id] : []))

  const group = await app.forward('lyon', 8081, '127.0.0.1:8080', { client: undefined, clients: { ids } })

  t.match(app.circles(), [[/^\w{26}$/, first]])
  t.match(await app.journal(group), [{ to: [group, first] }])
})

t.test('explain names the circle, without rules of other users', async t => {
  const app = await fixture(t, two)
  await app.user('ann')
  const paris = await app.forward('paris', 8080, '127.0.0.1:8081')
  await app.forward('lyon', 8081, '127.0.0.1:8080', { owner: 'ann' })
  const explain = async (client: string, port: number) => {
    const { body } = await app.call<{ steps: { id: string; reason: string; text: string }[] }>(
      'POST',
      '/v1/explain',
      {
        ...{ client, port, protocol: 'tcp' }
      }
    )
    return body.steps.filter(({ reason }) => reason === 'loop')
  }

  t.match(await explain('paris', 8080), [
    { id: paris, text: /paris tcp port 8080 -> a rule of another user -> paris tcp port 8080/ }
  ])
  t.match(await explain('lyon', 8081), [
    { text: /lyon tcp port 8081 -> a rule of another user -> lyon tcp port 8081/ }
  ])
})

t.test('doctor names the rules and clients of a circle', async t => {
  const app = await fixture(t, two)
  const first = await app.forward('paris', 8080, '127.0.0.1:8081')
  const second = await app.forward('lyon', 8081, '127.0.0.1:8080')
  await app.forward('lyon', 8443, '127.0.0.1:8444', { sni_pattern: 'shop.example' })
  await app.forward('paris', 8444, '127.0.0.1:8443', { sni_pattern: 'blog.example' })
  t.same(app.circles(), [[second, first]])
  const { store } = app.server.depsOf('clients')
  const query = <R>(_: string, sql: string) => store.read(em => em.execute<R[]>(sql))

  t.same(await loopCheck.run({ query } as Partial<DoctorContext> as DoctorContext), [
    { id: 'rules.loop', message: `${first} on paris -> ${second} on lyon -> ${first} on paris` }
  ])
})

t.test('a create does not read the other rules of the fleet', { skip: sqliteOnly }, async t => {
  const app = await fixture(t, two)
  const { store } = app.server.depsOf('clients')
  const plan = (sql: string, values: readonly (string | number)[]) =>
    store.read(em => em.execute<{ detail: string }[]>(`explain query plan ${sql}`, [...values]))
  const statements: { sql: string; values: readonly (string | number)[] }[] = []
  const recorder = {
    execute: async (sql: string, values: readonly (string | number)[]) => {
      statements.push({ sql, values })
      return []
    }
  }
  const rule = { id: 'r', clientId: 'c', protocol: 'tcp' } as Parameters<
    ReturnType<typeof storedGraph>['listening']
  >[0]
  for (const host of ['127.0.0.1', '192.0.2.1'])
    await storedGraph(recorder as never).listening(rule, host, { from: 80, to: 80 })

  for (const { sql, values } of statements) {
    const steps = (await plan(sql, values)).map(({ detail }) => detail)
    t.same(
      steps.filter(step => /^SCAN (rules|kernel_client|other)/.test(step)),
      [],
      steps.join('\n')
    )
  }
})
