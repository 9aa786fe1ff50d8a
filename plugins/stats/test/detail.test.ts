import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { plugins as builtin } from '../../../config/plugins.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import { recordStatements } from '../../../test/support/record-statements.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { minute, row, type StatsFixture, statsFixture } from './fixture.ts'

t.test('stats are split by port and by target on request', async t => {
  const { edge, report, call } = await statsFixture(t)
  const { agent, ruleId } = await edge()
  await report(agent, {
    rows: [
      row(ruleId, 'minute', minute, { bytes_in: 30, bytes_out: 300 }),
      row(ruleId, 'rule', '', { connections: 2, datagrams_in: 4, datagrams_out: 5, overflows: 6 }),
      row(ruleId, 'port', '8080', { bytes_in: 30, bytes_out: 300, datagrams_in: 4, datagrams_out: 5 }),
      row(ruleId, 'target', '10.0.0.1:80', { bytes_in: 30, bytes_out: 300, connections: 2 })
    ],
    live: [{ rule_id: ruleId, port: 8080, connections: 3 }]
  })

  const url = `/v1/rules/${ruleId}/stats`
  const { body: plain } = await call('GET', url)
  t.match(plain, { bytes_in: 30, datagrams_in: 4, datagrams_out: 5, flows_dropped_overflow: 6 })
  t.notOk('per_port' in plain || 'per_target' in plain, 'absent without the flag')

  t.match((await call('GET', `${url}?per_port=true&per_target=true`)).body, {
    per_port: [
      {
        listen_port: 8080,
        bytes_in: 30,
        bytes_out: 300,
        active_connections: 3,
        datagrams_in: 4,
        datagrams_out: 5
      }
    ],
    per_target: [
      {
        host: '10.0.0.1',
        port: 80,
        bytes_in: 30,
        bytes_out: 300,
        connections_total: 2,
        consecutive_failures: 0
      }
    ]
  })
  t.match(await call('GET', `${url}?per_port=perhaps`), {
    status: 400,
    body: { error: { code: /^validation/ } }
  })
})

t.test('a stream sends an event at once, every five seconds, and when the rule is deleted', async t => {
  const fixture = await statsFixture(t)
  const { edge, report, clock, call, disconnect } = fixture
  const { agent, ruleId } = await edge()
  const events = await watch(t, fixture, `/v1/rules/${ruleId}/stats/stream?per_target=true`)

  t.match(await events(), {
    event: 'stats',
    data: { rule_id: ruleId, bytes_in: 0, per_target: [{ port: 80 }] }
  })
  await report(agent, { rows: [row(ruleId, 'minute', minute, { bytes_in: 30 })] })
  await clock.advance(5_000)
  t.match(await events(), { event: 'stats', data: { bytes_in: 30 } })
  await clock.advance(5_000)
  t.match(await events(), { event: 'stats', data: { bytes_in: 30 } }, 'even without a change')

  await disconnect(agent) // no connection left to drain
  t.equal((await call('DELETE', `/v1/rules/${ruleId}`)).status, 204)
  t.match(await events(), { event: 'removed', data: { rule_id: ruleId } })
  t.equal(await events(), null, 'the stream ends')
})

t.test(
  'a stream event costs two statements, however many plugins extend rules',
  { skip: notOnPostgres('it counts statements of SQLite') },
  async t => {
    const fixture = await statsFixture(t, { plugins: Object.keys(builtin) })
    const { edge, clock } = fixture
    const { ruleId } = await edge()
    const events = await watch(t, fixture, `/v1/rules/${ruleId}/stats/stream`)
    await events()
    await clock.advance(5_000)
    await events()
    const asked = recordStatements(t)

    await clock.advance(5_000)
    t.match(await events(), { event: 'stats' })

    const ruleStatements = asked.sql.filter(sql => /\brule_id\b|\bfrom "?rules\b/.test(sql))
    t.equal(
      ruleStatements.length,
      2,
      `one for the rule and its access, one for its totals: ${ruleStatements.join('\n')}`
    )
  }
)

t.test('a stream of an unknown rule is refused before its first event', async t => {
  const { call } = await statsFixture(t)
  t.match(await call('GET', '/v1/rules/01NEVERWAS/stats/stream'), {
    status: 404,
    body: { error: { code: 'rule_not_found' } }
  })
})

/** Opens a stream over a real socket. Each call of the result returns the next event, or null after the last. */
async function watch(t: Test, { server: { origin } }: StatsFixture, path: string) {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const request = get(`${origin}${path}`, { headers, agent: false })
  t.teardown(() => request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]()
  let text = ''
  return async (): Promise<unknown> => {
    for (;;) {
      const [, event, data] = /event: (\w+)\ndata: (.*)\n\n/.exec(text) ?? []
      if (event && data) {
        text = text.slice(text.indexOf(data) + data.length)
        return { event, data: JSON.parse(data) }
      }
      const { value, done } = await chunks.next()
      if (done) return null
      text += value
    }
  }
}
