// Two plugins of one kind run side by side. Each is enabled, upgraded and disabled without harm to the other's callers.
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { until } from '../../plugins/rules/test/fixture.ts'
import { withAcme, writeAcme } from '../support/acme.ts'
import { openLiveStream, startEchoServer } from '../support/live-stream.ts'
import { freePort } from '../support/ports.ts'
import { type RunningAgent, startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'

const examples = join(import.meta.dirname, '..', 'third-party')

/** Restarts the server with this configuration. If it refuses to start, it stays stopped. */
async function restartWith({ agent }: RunningAgent, cluster: TestCluster, config: string): Promise<void> {
  const before = agent.events.length
  cluster.server.signal('SIGTERM')
  await cluster.server.exit
  cluster.configure(config)
  await cluster.restart()
  await agent.until('control.connected', () => true, before)
}

const trust = (cluster: TestCluster, plugin: string, configFile = cluster.configFile) =>
  cluster.cli(['plugin', 'trust', plugin, '--config', configFile])

async function createRule(cluster: TestCluster, target: number, fields: object = {}) {
  const port = await freePort()
  const targets = [{ host: '127.0.0.1', port: target }]
  const body = { client: 'edge', listen_port: port, targets, ...fields }
  const { rule_id: id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
  return { id, port }
}

/** Signs in by a key in a header. With `after` it comes after proxy-sign-in. */
const keySignIn = (version: string, after: boolean): string => `
import { authenticatorSlot, definePlugin, Type } from 'sluice/plugin'
export default definePlugin({
  name: 'acme',
  version: '${version}',
  kernel: '^2.0.0',
  needs: { users: '^1.0.0'${after ? ", 'proxy-sign-in': '^1.0.0'" : ''} },
  config: Type.Object({ keys: Type.Record(Type.String(), Type.String()) }),
  fills: [authenticatorSlot.fillWith(({ config: { keys }, users }) => async ({ headers }, em) => {
    const userId = keys[headers['x-acme-key']]
    return userId === undefined ? null : users.caller(em, { userId, method: 'acme_key' })
  })]
})
`

t.test(
  'two authenticators keep their order and their methods, and the callers of each stay signed in',
  async t => {
    const proxied = '[plugins."./proxy-sign-in"]\nproxies = ["127.0.0.1"]\n'
    const keyed = `${withAcme}keys = { k1 = "bob" }\n`
    const cluster = await testCluster(t)
    cpSync(join(examples, 'proxy-sign-in'), join(cluster.dir, 'proxy-sign-in'), { recursive: true })
    writeAcme(cluster.dir, 'plugin', keySignIn('1.0.0', false))
    const edge = await startAgent(t, cluster, 'edge')
    for (const user_id of ['root', 'ann', 'bob'])
      await cluster.call('POST', '/v1/users', { user_id, display_name: user_id, role: 'superadmin' })
    const rule = await createRule(cluster, await startEchoServer(t), { owner: 'ann' })
    const live = await openLiveStream(t, rule.port)

    const ann = { 'x-forwarded-user': 'ann' }

    const bob = { 'x-acme-key': 'k1' }
    const send = (headers: object, method = 'GET', path = '/v1/users/me', body?: object) =>
      fetch(cluster.origin + path, {
        method,
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) })
      })
    const who = async (headers: object): Promise<string> => {
      const reply = await send(headers)
      return reply.ok ? ((await reply.json()) as { readonly user_id: string }).user_id : String(reply.status)
    }
    /** Returns the identity of each caller, after checking that the live stream continues. */
    const callers = async () => {
      const answers = { ann: await who(ann), bob: await who(bob), both: await who({ ...ann, ...bob }) }
      await live.advance()
      return answers
    }
    /** Resolves with the first event of a new API stream of the caller. */
    const firstEvent = async (headers: object): Promise<string | undefined> => {
      const { body } = await send(headers, 'GET', `/v1/rules/${rule.id}/stats/stream`)
      let got = ''
      for await (const part of body ?? []) {
        got += Buffer.from(part)
        const [, name] = /^event: (.+)\n/m.exec(got) ?? []
        if (name) return name
      }
      return undefined
    }

    await restartWith(edge, cluster, proxied)
    t.same(await callers(), { ann: 'ann', bob: '401', both: 'ann' })

    await restartWith(edge, cluster, proxied + keyed)
    t.same(await callers(), { ann: 'ann', bob: 'bob', both: 'bob' }, 'acme starts before proxy-sign-in')
    t.same(await Promise.all([ann, bob].map(firstEvent)), ['stats', 'stats'])

    const sameOrigin = { origin: cluster.origin, 'x-svc-csrf': '1' }
    const rename = (headers: object) => send(headers, 'PATCH', '/v1/users/root', { display_name: 'Root' })
    t.equal((await rename(ann)).status, 403, 'a browser sends the header of the proxy automatically')
    t.equal((await rename({ ...ann, ...sameOrigin })).status, 200)
    t.equal((await rename(bob)).status, 200)
    t.match(await cluster.call('GET', '/v1/audit?limit=3'), [
      { actor: 'bob', auth_method: 'acme_key', status: 200 },
      { actor: 'ann', auth_method: 'proxy_header', status: 200 },
      { actor: 'ann', auth_method: 'proxy_header', status: 403 }
    ])

    writeAcme(cluster.dir, 'plugin', keySignIn('2.0.0', true), 2)
    await t.rejects(restartWith(edge, cluster, proxied + keyed), { message: /sluice plugin trust \.\/acme/ })
    await live.advance()
    t.equal((await trust(cluster, './acme')).code, 0)
    const before = edge.agent.events.length
    await cluster.restart()
    await edge.agent.until('control.connected', () => true, before)
    t.same(await callers(), { ann: 'ann', bob: 'bob', both: 'ann' }, 'now acme needs proxy-sign-in')
    t.match(await cluster.json('plugin', 'list', 'acme', '--config', cluster.configFile), {
      version: '2.0.0'
    })

    await restartWith(edge, cluster, proxied + keyed.replace('\n', '\nenabled = false\n'))
    t.same(await callers(), { ann: 'ann', bob: '401', both: 'ann' })
    t.equal(await firstEvent(ann), 'stats')

    writeAcme(cluster.dir, 'plugin', keySignIn('2.0.1', false), 2)
    t.equal((await trust(cluster, './acme')).code, 0)
    await restartWith(edge, cluster, keyed)
    t.same(await callers(), { ann: '401', bob: 'bob', both: 'bob' })
    t.equal(await firstEvent(bob), 'stats')
    t.ok((await live.end()) > 600)
  }
)

/** A collector of JSON lines. `of` resolves with the number of lines about a rule once it reaches `count`. */
async function startCollector(t: Test) {
  const lines: { readonly rule_id: string }[] = []
  const wake = new EventTarget()
  const server = createServer(async (request, response) => {
    const body = await text(request)
    for (const line of body.trimEnd().split('\n')) lines.push(JSON.parse(line))
    response.end()
    wake.dispatchEvent(new Event('lines'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async of({ id }: { readonly id: string }, count: number) {
      const found = () => lines.filter(({ rule_id }) => rule_id === id)
      while (found().length < count) await once(wake, 'lines')
      return found().length
    }
  }
}

/** Copies the example under another name. For sluice the copy is another plugin, with another field. */
function copyConnectionLog(dir: string, name: string): void {
  const folder = join(dir, name)
  cpSync(join(examples, 'connection-log'), folder, { recursive: true })
  const snake = name.replaceAll('-', '_')
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) {
      const file = join(entry.parentPath, entry.name)
      const own = readFileSync(file, 'utf8')
        .replaceAll('connection-log', name)
        .replaceAll('connection_log', snake)
      writeFileSync(file, own)
    }
}

t.test('adding, changing or removing one consumer of connection records costs the other no line', async t => {
  const first = await startCollector(t)
  const second = await startCollector(t)
  const cluster = await testCluster(t)
  copyConnectionLog(cluster.dir, 'log-one')
  copyConnectionLog(cluster.dir, 'log-two')
  const agentFile = join(cluster.dir, 'agent.toml')
  writeFileSync(agentFile, '')
  const edge = await startAgent(t, cluster, 'edge', { args: ['--config', agentFile] })
  const target = await startEchoServer(t)

  const urls = { one: first.url, two: second.url }
  type Name = keyof typeof urls
  /** Reloads server and agent with exactly these plugins. */
  const take = async (...names: Name[]): Promise<void> => {
    const sections = names.map(name => `[plugins."./log-${name}"]\n`)
    await restartWith(edge, cluster, sections.join(''))
    writeFileSync(agentFile, names.map((name, i) => `${sections[i]}collector = "${urls[name]}"\n`).join(''))
    const before = edge.agent.events.length
    edge.agent.signal('SIGHUP')
    await edge.agent.until('agent.reloaded', () => true, before)
    await edge.agent.until('control.connected', () => true, before)
  }
  const call = async ({ port }: { readonly port: number }): Promise<void> => {
    const stream = await openLiveStream(t, port)
    await stream.advance(1)
    await stream.end()
  }
  const stateOf = async ({ id }: { readonly id: string }): Promise<string> =>
    (await cluster.call<{ state: string }>('GET', `/v1/rules/${id}`)).state

  await take('one')
  const one = await createRule(cluster, target, { log_one: true })
  const live = await openLiveStream(t, one.port)
  await call(one)
  t.equal(await first.of(one, 1), 1)

  await take('one', 'two')
  const two = await createRule(cluster, target, { log_two: true })
  const both = await createRule(cluster, target, { log_one: true, log_two: true })
  for (const rule of [one, two, both]) await call(rule)
  await live.advance()
  t.same([await first.of(one, 2), await first.of(both, 1), await second.of(two, 1)], [2, 1, 1])
  t.equal(await second.of(both, 1), 1, 'one record goes to both')

  const manifest = join(cluster.dir, 'log-two', 'plugin.ts')
  const field = join(cluster.dir, 'log-two', 'field.ts')
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace("version: '1.0.0'", "version: '1.1.0'"))
  writeFileSync(field, readFileSync(field, 'utf8').replace("since: '1.0.0'", "since: '1.1.0'"))
  await t.rejects(take('one', 'two'), { message: /sluice plugin trust \.\/log-two/ })
  await live.advance()
  await call(one)
  t.equal(await first.of(one, 3), 3, 'lines are shipped without a server')
  for (const file of [cluster.configFile, agentFile])
    t.equal((await trust(cluster, './log-two', file)).code, 0)
  await cluster.restart()
  await take('one', 'two')
  await until(
    () => stateOf(two),
    state => state === 'active'
  )
  const version = { version: '1.1.0' }
  t.match(await cluster.json('plugin', 'list', 'log-two', '--config', cluster.configFile), version)
  for (const rule of [one, two]) await call(rule)
  await live.advance()
  t.same([await first.of(one, 4), await second.of(two, 2)], [4, 2])

  await take('one')
  await until(
    () => stateOf(two),
    state => state === 'failed'
  )
  await call(one)
  await live.advance()
  t.equal(await first.of(one, 5), 5)

  await take('two')
  await until(
    () => stateOf(two),
    state => state === 'active'
  )
  await call(two)
  t.equal(await second.of(two, 3), 3)
  await t.rejects(live.advance(), { message: 'the connection broke' }, 'the rule was deleted with its owner')
})
