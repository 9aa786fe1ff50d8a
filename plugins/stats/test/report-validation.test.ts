// A report counts only for the client's own rules, for their ports and targets, and for plausible times.
import { text } from 'node:stream/consumers'
import t from 'tap'
import { noCounts } from '../../../agent/wire/counters.ts'
import type { ReportRow } from '../../../agent/wire/journal-report.ts'
import { operatorId } from '../../../kernel/identity/identity.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import type { Scrape } from '../../metrics/scrape.ts'
import { StatsEpoch, StatsRow, StatsTotal } from '../entities.ts'
import { reportWindow, validateRows } from '../report-validation.ts'
import { openRowLimit } from '../row-limit.ts'
import { epoch, minute, noon, otherEpoch, row, type StatsFixture, statsFixture } from './fixture.ts'

const noonSecs = noon / 1000
const target = { host: '10.0.0.1', port: 80, priority: 0 }
const most = Number.MAX_SAFE_INTEGER

const refusals = ({ log }: StatsFixture) =>
  log.filter(({ event }) => event === 'agent.row_refused').map(({ fields }) => fields)

const deps = (on: StatsFixture) => on.server.depsOf('stats') as Kernel

/** The rows of both tables. */
const stored = (on: StatsFixture) =>
  deps(on).store.read(async em => ({
    rows: (await em.find(StatsRow, {})).map(({ kind, key }) => `${kind} ${key}`).sort(),
    totals: (await em.find(StatsTotal, {})).map(({ kind, key }) => `${kind} ${key}`).sort()
  }))

t.test('an invalid row does not count, but the other rows of its report do', async t => {
  const on = await statsFixture(t)
  const { agent, clientId, ruleId } = await on.edge()
  const refused: readonly (readonly [reason: string, row: ReportRow])[] = [
    ['kind', row(ruleId, 'port ', '8080', { bytes_in: 1 })],
    ['kind', row(ruleId, 'toString', '', { bytes_in: 1 })],
    ['key', row(ruleId, 'port', '8081', { bytes_in: 1 })],
    ['key', row(ruleId, 'port', '08080', { bytes_in: 1 })],
    ['key', row(ruleId, 'target', '10.0.0.2:80', { bytes_in: 1 })],
    ['key', row(ruleId, 'rejected', 'a\nb', { rejected: 1 })],
    ['key', row(ruleId, 'rule', 'all', { connections: 1 })],
    ['amount', row(ruleId, 'rule', '', { bytes_in: 1 })],
    ['key', row(ruleId, 'minute', 'yesterday', { bytes_in: 1 })],
    ['key', row(ruleId, 'minute', String(noonSecs + 1), { bytes_in: 1 })],
    ['key', row(ruleId, 'hour', String(noonSecs + 60), { bytes_in: 1 })],
    ['time', row(ruleId, 'minute', '9999999960', { bytes_in: 1 })],
    ['time', row(ruleId, 'minute', String(noonSecs + 2 * 3600), { bytes_in: 1 })],
    ['time', row(ruleId, 'hour', String(noonSecs - 92 * 86_400), { bytes_in: 1 })],
    ['amount', row(ruleId, 'minute', String(noonSecs - 60), { bytes_out: most })],
    ['amount', row(ruleId, 'hour', String(noonSecs - 3600), { bytes_in: most })]
  ]

  const rule = {
    clientId,
    owner: 'ann',
    shape: { listenFrom: 8080, listenTo: 8080, targets: [target], former: { targets: [], ports: [] } }
  }
  for (const [reason, bad] of refused)
    t.match(
      validateRows({ clientId, rows: [bad], live: [] }, new Map([[ruleId, rule]]), reportWindow(on.clock)),
      {
        accepted: [],
        refused: [{ report: 'stats', reason, rule: ruleId, kind: bad.kind, key: bad.key }]
      }
    )
  await on.report(agent, {
    rows: [...refused.map(([, row]) => row), row(ruleId, 'minute', minute, { bytes_in: 7 })]
  })

  t.match(await on.stats(ruleId), { bytes_in: 7, bytes_out: 0, connections_total: 0, rejected: {} })
  t.strictSame(await stored(on), { rows: [`minute ${minute}`], totals: ['rule '] })
  t.match(refusals(on), [{ client: clientId, reason: 'kind', suppressed: 0 }])
})

t.test("an agent cannot change another client's metrics with invented connections", async t => {
  const plugins = ['users', 'clients', 'rules', 'stats', 'metrics']
  const on = await statsFixture(t, { plugins })
  const [own, other] = [await on.edge('own'), await on.edge('other')]
  await on.report(other.agent, { live: [{ rule_id: other.ruleId, port: 8081, connections: 2 }] })

  await on.report(own.agent, {
    live: [
      { rule_id: other.ruleId, port: 8081, connections: 1000 },
      { rule_id: own.ruleId, port: 9, connections: 1000 },
      { rule_id: own.ruleId, port: 8080, connections: 3 }
    ]
  })

  const { scrape } = on.server.depsOf('metrics') as unknown as { readonly scrape: Scrape }
  const page = await text(await scrape())
  t.match(page, new RegExp(`svc_rule_active_connections{.*rule="${other.ruleId}"} 2\n`))
  t.match(page, new RegExp(`svc_rule_active_connections{.*rule="${own.ruleId}"} 3\n`))
  t.match(refusals(on), [{ report: 'active', reason: 'rule', rule: other.ruleId }])
  t.match(await on.call('GET', '/v1/stats/summary'), { body: { active_connections: 5 } })
})

t.test('a thousand invented reasons become 33 series, and their counts add up', async t => {
  const on = await statsFixture(t)
  const { agent, ruleId } = await on.edge()
  const rows = Array.from({ length: 500 }, (_, i) => row(ruleId, 'rejected', `made.up_${i}`, { rejected: 2 }))
  const more = Array.from({ length: 500 }, (_, i) => row(ruleId, 'rejected', `more:up-${i}`, { rejected: 2 }))

  await on.report(agent, { rows })
  await on.report(agent, { seq: 2, rows: more })

  const { rejected } = await on.stats(ruleId)
  t.equal(Object.keys(rejected).length, 33)
  t.equal(rejected['made.up_0'], 2)
  t.equal(
    Object.values(rejected).reduce((sum, count) => sum + count, 0),
    2000
  )
})

t.test('sums stop at the largest exact number, and every route still answers', async t => {
  const on = await statsFixture(t)
  const { agent, ruleId } = await on.edge()
  const { body: second } = await on.push({ client: 'edge', listen_port: 9000 })
  const counts = { connections: most, dns_failures: most, failovers: most, datagrams_in: most }

  for (const run of [epoch, otherEpoch])
    await on.report(agent, {
      epoch: run,
      rows: [ruleId, second.rule_id].flatMap(id => [
        row(id, 'rule', '', counts),
        row(id, 'target', '10.0.0.1:80', { bytes_in: most }),
        row(id, 'rejected', 'loop', { rejected: most })
      ])
    })
  await deps(on).store.change(em =>
    em.nativeUpdate(StatsTotal, { kind: 'rule' }, { bytesIn: most, bytesOut: most })
  )

  t.match((await on.call('GET', `/v1/rules/${ruleId}/stats?per_target=true`)).body, {
    bytes_in: most,
    connections_total: most,
    datagrams_in: most,
    rejected: { loop: most },
    per_target: [{ bytes_in: most }]
  })
  t.match(await on.call('GET', '/v1/stats/summary'), {
    status: 200,
    body: { bytes_in: most, bytes_out: most }
  })
})

t.test('the last bytes of a deleted rule count, but its ports and reasons do not', async t => {
  const on = await statsFixture(t)
  const { agent, clientId, ruleId } = await on.edge()
  await on.disconnect(agent)
  await on.call('DELETE', `/v1/rules/${ruleId}`)
  const back = await on.connected(clientId)

  await on.report(back, {
    rows: [
      row(ruleId, 'minute', minute, { bytes_in: 5 }),
      row(ruleId, 'port', '1', { bytes_in: 5 }),
      row(ruleId, 'rejected', 'loop', { rejected: 5 })
    ],
    live: [{ rule_id: ruleId, port: 8080, connections: 5 }],
    last: false
  })

  t.strictSame(await stored(on), { rows: [`minute ${minute}`], totals: ['rule '] })
  t.strictSame(refusals(on), [])
})

t.test(
  'a client has at most 20,000 epochs and 200,000 rows; a report beyond them adds no row',
  { skip: notOnPostgres('its rows are made by a function of SQLite') },
  async t => {
    const on = await statsFixture(t)
    const { agent, clientId, ruleId } = await on.edge()
    const { store } = deps(on)
    const owner = operatorId
    const numbers = (to: number) =>
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${to})`
    await store.change(async em => {
      await em.execute(`insert into stats_epoch (client_id, epoch, seq, committed_at)
      ${numbers(20_001)} select '${clientId}', printf('%032x', i), 1, i from n`)
      await em.execute(`insert into stats_row (client_id, epoch, rule_id, kind, key, bytes_in, bytes_out, connections,
      dns_failures, failovers, rejected) ${numbers(200_000)}
      select '${clientId}', printf('%032x', 20000), '${ruleId}', 'rejected', i, 0, 0, 0, 0, 0, 1 from n`)
      await em.execute(`insert into stats_total (rule_id, kind, key, client_id, owner, updated_at, bytes_in, bytes_out,
      connections, dns_failures, failovers, rejected)
      values ('${ruleId}', 'rejected', 'limit', '${clientId}', '${owner}', 1, 0, 0, 0, 0, 0, 1)`)
    })

    await on.report(agent, { rows: [row(ruleId, 'minute', minute, { bytes_in: 5 })] })

    t.match(await on.stats(ruleId), { bytes_in: 0 })
    t.match(refusals(on), [{ report: 'stats', reason: 'limit', kind: 'minute' }])
    t.equal(await store.read(em => em.count(StatsEpoch, { clientId })), 19_002)

    const rowLimit = openRowLimit(on)
    const countRefused = async (by = owner) => {
      const added = { ...noCounts, kind: 'minute', key: minute, ruleId, owner: by, id: by }
      return (await store.change(em => rowLimit.refuse(clientId, [added], em))).size
    }
    t.equal(await countRefused(), 1)
    t.equal(await countRefused('bob'), 0, 'rows of another owner have their own share')
    await store.change(em => em.nativeDelete(StatsRow, { clientId })) // as a peer server prunes old rows
    t.equal(await countRefused(), 1)
    await on.clock.advance(60_000)
    t.equal(await countRefused(), 0, 'rows are counted again within a minute')
  }
)
