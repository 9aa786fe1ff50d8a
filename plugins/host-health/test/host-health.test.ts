import t, { type Test } from 'tap'
import { connectAgent } from '../../../kit/scripted-agent.ts'
import { rulesFixture, until } from '../../rules/test/fixture.ts'
import { openHostLoad } from '../host-load.ts'
import type { Sample } from '../schema.ts'
import { Echo, messages, Sample as SampleMessage } from '../wire.ts'

const plugins = ['users', 'clients', 'rules', 'host-health']
const reported = { cpu_percent: 12.5, memory_used_bytes: 3_000_000_000, memory_total_bytes: 8_000_000_000 }
const minuteMs = 60_000

async function fixture(t: Test) {
  const app = await rulesFixture(t, { plugins })
  const clientId = await app.enroll('paris')
  const agent = await app.connect(clientId, { messages })
  const read = async (query = '') =>
    (await app.call<Sample[]>('GET', `/v1/clients/${clientId}/health${query}`)).body
  return { ...app, clientId, agent, read }
}

t.test('a client has a sample for each minute, oldest first', async t => {
  const { agent, read, clock } = await fixture(t)
  t.same(await read(), [], 'an agent that reports none has an empty list')
  const at = Math.floor(clock.now() / minuteMs) * minuteMs

  await agent.channel.request(Echo, {})
  await agent.channel.request(SampleMessage, { ...reported, open_descriptors: 40, rtt_ms: 1.25 })
  await agent.channel.request(SampleMessage, { ...reported, cpu_percent: 99 })
  clock.step(minuteMs)
  await agent.channel.request(SampleMessage, { ...reported, cpu_percent: 0 })

  const first = { ...reported, at: new Date(at).toISOString(), open_descriptors: 40, rtt_ms: 1.25 }
  const second = { ...reported, at: new Date(at + minuteMs).toISOString(), cpu_percent: 0 }
  const samples = [first, { ...second, open_descriptors: null, rtt_ms: null }]
  t.same(await read(), samples, 'a second sample of a minute does not count')
  const secs = at / 1000
  t.same(await read(`?from=${secs}&to=${secs + 60}`), samples.slice(0, 1), 'from is in, to is out')
  t.same(await read(`?from=${encodeURIComponent(second.at)}`), samples.slice(1))
})

t.test('CSV has an empty value where nothing was measured', async t => {
  const { agent, call, clientId, clock } = await fixture(t)
  await agent.channel.request(SampleMessage, reported)
  const at = new Date(Math.floor(clock.now() / minuteMs) * minuteMs).toISOString()

  const { text } = await call('GET', `/v1/clients/${clientId}/health`, undefined, { accept: 'text/csv' })
  const head = 'at,cpu_percent,memory_used_bytes,memory_total_bytes,open_descriptors,rtt_ms'
  t.equal(text, `${head}\n${at},12.5,3000000000,8000000000,,\n`)
})

t.test('an invalid query, an unknown client and a plain user are refused', async t => {
  const { call, clientId, user } = await fixture(t)
  const refused = (status: number, code: string) => ({ status, body: { error: { code } } })
  const url = `/v1/clients/${clientId}/health`

  t.match(await call('GET', `${url}?from=20&to=10`), refused(400, 'invalid_time_range'))
  t.match(await call('GET', `${url}?from=yesterday`), refused(400, 'invalid_timestamp'))
  t.match(await call('GET', `${url}?since=10`), refused(400, 'validation.unknown_parameter'))
  t.match(await call('GET', '/v1/clients/nowhere/health'), refused(404, 'client_not_found'))
  t.match(await call('GET', url, undefined, await user('ann')), refused(403, 'role_required'))
})

t.test('samples are deleted after 7 days, and with their client', async t => {
  const { agent, clock, call, clientId, server } = await fixture(t)
  const { store } = server.depsOf('host-health')
  const count = () =>
    store.read(async em =>
      Number((await em.execute<{ n: number }[]>('select count(*) as n from host_health_sample'))[0]?.n)
    )
  await agent.channel.request(SampleMessage, reported)
  await agent.close()
  for (let day = 0; day < 6; day++) await clock.advance(86_400_000)
  t.equal(await count(), 1)
  await clock.advance(2 * 86_400_000)
  t.equal(await count(), 0)

  const again = await connectAgent(t, {
    port: server.control.port(),
    fingerprint: server.control.fingerprint,
    token: clientId,
    messages
  })
  await again.channel.request(SampleMessage, reported)
  t.equal(await count(), 1)
  await call('POST', `/v1/clients/${clientId}/revoke`)
  t.equal((await call('DELETE', `/v1/clients/${clientId}`)).status, 204)
  t.equal(await count(), 0)
})

t.test('the load of this host is plausible', async t => {
  const read = openHostLoad()
  await until(read, ({ cpu_percent }) => cpu_percent > 0)

  const load = await read()
  t.ok(load.cpu_percent >= 0 && load.cpu_percent <= 100)
  t.ok(load.memory_used_bytes > 0 && load.memory_used_bytes < load.memory_total_bytes)
  if (process.platform === 'linux') t.ok(Number(load.open_descriptors) > 0)
})
