// The life of a third-party plugin: added, upgraded, removed, added again. And one that loops on an agent.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { withAcme, writeAcme } from '../support/acme.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestCluster, testCluster, token } from '../support/test-cluster.ts'
import { download, get, hashOfMib, startWebServer } from '../support/web.ts'

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }

/** Writes a row at each start. Its second version adds a column. */
const acme = (version: 1 | 2): string => `
import { defineEntity, defineList, definePlugin, Migration, p, Type } from 'sluice/plugin'

const hasWord = ${version > 1}
class Acme0001 extends Migration {
  up() {
    this.addSql('create table "acme_start" ("id" int not null primary key)')
  }
}
class Acme0002 extends Migration {
  up() {
    this.addSql(\`alter table "acme_start" add column "word" varchar(8) not null default 'old'\`)
  }
}
const Start = defineEntity({
  name: 'AcmeStart',
  tableName: 'acme_start',
  properties: { id: p.integer().primary(), ...(hasWord && { word: p.string().length(8).default('old') }) }
})
export default definePlugin({
  name: 'acme',
  version: '${version}.0.0',
  kernel: '^2.0.0',
  store: {
    entities: [Start],
    migrations: [
      { name: '0001-start', class: Acme0001 },
      ...(hasWord ? [{ name: '0002-word', class: Acme0002 }] : [])
    ]
  },
  routes: [
    defineList({
      url: '/v1/acme',
      action: 'acme.list',
      access: 'superadmin',
      summary: 'Starts.',
      schema: () => ({ row: Type.Object({ id: Type.Integer(), word: Type.Optional(Type.String()) }) }),
      run: ({ store }) => store.read(em => em.find(Start, {}, { orderBy: { id: 'asc' } }))
    })
  ],
  start: ({ deps: { store } }) =>
    store.change(async em => {
      await em.insert(Start, { id: (await em.count(Start)) + 1, ...(hasWord && { word: 'new' }) })
    })
})
`

async function stop({ server }: TestCluster): Promise<void> {
  server.signal('SIGTERM')
  await server.exit
}

t.test('a plugin is added, upgraded after trust, removed and added again, and keeps its rows', async t => {
  const cluster = await testCluster(t)
  const rows = async () => (await fetch(`${cluster.origin}/v1/acme`, { headers })).json()
  const trust = async () =>
    t.equal((await cluster.cli(['plugin', 'trust', './acme', '--config', cluster.configFile])).code, 0)
  await stop(cluster)

  cluster.configure(withAcme)
  writeAcme(cluster.dir, 'plugin', acme(1))
  await cluster.restart()
  t.same(await rows(), [{ id: 1 }])
  await stop(cluster)

  writeAcme(cluster.dir, 'plugin', acme(2), 2)
  await t.rejects(
    cluster.restart(),
    { message: /sluice plugin trust \.\/acme/ },
    'changed files are not trusted'
  )
  await trust()
  await cluster.restart()
  const upgraded = [
    { id: 1, word: 'old' },
    { id: 2, word: 'new' }
  ]
  t.same(await rows(), upgraded)
  await stop(cluster)

  cluster.configure('')
  await cluster.restart()
  t.match(await rows(), { error: { code: 'not_found' } })
  await stop(cluster)

  cluster.configure(withAcme)
  writeAcme(cluster.dir, 'plugin', acme(1))
  await trust()
  await t.rejects(cluster.restart(), { message: /acme: the database has schema 2, this build knows 1/ })
  writeAcme(cluster.dir, 'plugin', acme(2), 2)
  await trust()
  await cluster.restart()
  t.same(await rows(), [...upgraded, { id: 3, word: 'new' }])
})

const spinning = `
export default {
  name: 'acme',
  agent: '^1.0.0',
  async start({ call, defer }) {
    const spin = () => {
      call.log.info('acme.spins', 'and never ends')
      for (;;);
    }
    process.on('SIGUSR2', spin)
    defer(() => process.off('SIGUSR2', spin))
  }
}
`

t.test('an agent plugin that loops forever does not stop the native engine', async t => {
  const cluster = await testCluster(t)
  writeAcme(cluster.dir, 'agent', spinning)
  const configFile = join(cluster.dir, 'agent.toml')
  writeFileSync(configFile, withAcme)
  const paris = await startAgent(t, cluster, 'paris', {
    args: ['--config', configFile],
    env: { SVC_ENGINE: 'native' }
  })
  const [page, port, other] = [await startWebServer(t), await freePort(), await freePort()]
  const push = (listen_port: number, query = ''): Promise<Response> => {
    const body = { client: 'paris', listen_port, targets: [{ host: '127.0.0.1', port: page }] }
    return fetch(`${cluster.origin}/v1/rules${query}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body)
    })
  }
  t.equal((await push(port)).status, 201)
  const running = download(`http://127.0.0.1:${port}/mib/64`, 1 << 20)
  await running.reached(1 << 20)

  paris.agent.signal('SIGUSR2')
  await paris.agent.until('acme.spins')

  t.equal((await push(other, '?ack_timeout_secs=1')).status, 504, 'the agent does not answer')
  t.match(await get(`http://127.0.0.1:${port}/`), /hello/, 'a new connection is served')
  running.resume()
  t.equal(await running.hash, hashOfMib(64), 'and a running download continues')
  await t.rejects(once(connect(other, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' })
})
