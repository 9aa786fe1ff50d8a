// Live connections with paths through the API: scripted agents report the rows.
import t, { type Test } from 'tap'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { wireMessages } from '../../../kernel/wire/envelope.ts'
import { frameLimit } from '../../../kernel/wire/frame.ts'
import { scriptedResponse } from '../../../kit/scripted-agent.ts'
import type { ConnectionRow } from '../../connections/schema.ts'
import {
  Close,
  List,
  capability as listCapability,
  messages as listMessages,
  maxRows,
  pathCapability,
  type Row,
  type Selection
} from '../../connections/wire.ts'
import { planPath } from '../planned-path.ts'
import { StatusReport } from '../wire.ts'
import { status } from './fixture.ts'
import { plugins, script, viaFixture } from './via-fixture.ts'

type CarriedRow = ConnectionRow & { readonly via: string[] | null; readonly link_rtt_ms: number | null }

const target = { host: '10.0.0.1', port: 80 }

/** A rule of ann on edge that leads through relay to exit; its agent reports `rows`. */
async function open(t: Test, since = pathCapability.since) {
  const app = await viaFixture(t, { plugins: [...plugins, 'grants', 'connections'] })
  const { ids } = app
  const rows: Partial<Row>[] = []
  const asked: Selection[] = []
  const noted = (selection: Selection): void => void asked.push(selection)
  let rule_id = ''
  const toRow = (more: Partial<Row>, at: number): Row => ({
    ...{ id: at + 1, key: at, rule_id, protocol: 'tcp' as const, source: '198.51.100.7:5000' },
    ...{ listen: '203.0.113.1:443', target: '10.0.0.1:80', age_ms: 5, idle_ms: 5 },
    ...{ bytes_in: 1, bytes_out: 2, held_by: '', caller: { rtt_ms: 12, retransmits: 0 } },
    ...more
  })
  const more = {
    capabilities: { ...script.capabilities, [listCapability.id]: since },
    messages: [...(script.messages ?? []), ...listMessages, StatusReport, StatusReport.response],
    responses: [
      ...(script.responses ?? []),
      scriptedResponse(List, ({ selection }) => {
        noted(selection)
        return { run: 'r', matched: rows.length, bytes_in: 1, bytes_out: 2, rows: rows.map(toRow) }
      }),
      scriptedResponse(Close, ({ selection }) => {
        noted(selection)
        return { count: 1 }
      })
    ]
  }
  const edge = await app.agent('edge', more)
  const relay = await app.agent('relay', { ...more, capabilities: script.capabilities ?? {} })
  await app.agent('exit')
  const ann = await app.user('ann')
  const made = await app.push({ owner: 'ann', via: ['relay', 'exit'], targets: [target] })
  rule_id = made.body.rule_id
  const list = async (query = '', headers: Record<string, string> = {}) =>
    (await app.call<CarriedRow[]>('GET', `/v1/connections${query}`, undefined, headers)).body
  return { app, ids, rows, asked, edge, relay, ann, list }
}

t.test('a row has the path that its agent reports, and the round trip over all its links', async t => {
  const { app, ids, rows, edge, relay, list } = await open(t)
  const links = (await app.call<{ link_id: string; clients: { client_id: string }[] }[]>('GET', '/v1/links'))
    .body
  const linkOf = (near: string) => links.find(({ clients }) => clients[0]?.client_id === near)?.link_id ?? ''
  rows.push({ path: planPath({ next: ids.relay, others: [ids.exit], key: 7 }) }, {})
  const via = [ids.relay, ids.exit]

  await edge.channel.request(StatusReport, { links: [status(linkOf(ids.edge), { rtt_last_ms: 30 })] })
  t.match(await list(), [
    { via: null, link_rtt_ms: null },
    { via, link_rtt_ms: null }
  ])
  await relay.channel.request(StatusReport, { links: [status(linkOf(ids.relay), { rtt_last_ms: 8.5 })] })
  t.match(await list(), [
    { via: null, link_rtt_ms: null },
    { via, link_rtt_ms: 38.5, target: '10.0.0.1:80', rtt_ms: { caller: 12, target: null } }
  ])
})

t.test('a connection keeps showing its path after its rule has another one', async t => {
  const { app, ids, rows, list } = await open(t)
  rows.push({ path: planPath({ next: ids.other, others: [], key: 7 }) })

  t.match(await list(), [{ via: [ids.other], link_rtt_ms: null }])
  t.equal((await app.call('GET', '/v1/links')).status, 200)
})

t.test('the filter selects by client at the agents, for lists and for closes', async t => {
  const { app, ids, rows, asked, list } = await open(t)
  rows.push({})

  await list('?via=exit')
  await list(`?via=${ids.relay}`)
  t.match(await app.call('DELETE', '/v1/connections?via=exit'), { body: { matched: 1, closed: 1 } })
  t.same(
    asked.map(({ path_words }) => path_words),
    [[ids.exit], [ids.relay], [ids.exit]]
  )
  t.same(await list('?via=nobody'), [])
  t.match(await app.call('DELETE', '/v1/connections?via=nobody'), { body: { matched: 0 } })
  t.equal(asked.length, 3, 'no agent is asked about an unknown client')
})

t.test('a user finds own connections by clients that the user sees, and by no other', async t => {
  const { app, ids, rows, asked, ann, list } = await open(t)
  rows.push({ path: planPath({ next: ids.relay, others: [ids.exit], key: 7 }) })
  const grant = { user_id: 'ann', client_id: ids.exit, use: 'exit', protocols: ['tcp'] }
  t.equal((await app.call('POST', '/v1/grants', grant)).status, 201)

  t.match(await list('', ann), [{ via: [ids.relay, ids.exit] }])
  t.equal((await list('?via=exit', ann)).length, 1)
  t.same(asked.at(-1)?.owner, 'ann')
  for (const via of ['other', ids.other, 'nobody']) t.same(await list(`?via=${via}`, ann), [], via)
})

t.test('an agent that does not know paths is not asked, since it would close all connections', async t => {
  const { app, rows, asked, list } = await open(t, listCapability.since)
  rows.push({})

  t.equal((await list()).length, 1)
  asked.length = 0
  t.same(await list('?via=exit'), [])
  t.match(await app.call('DELETE', '/v1/connections?via=exit'), { body: { matched: 0 } })
  t.same(asked, [])
})

t.test('the largest page of rows with paths fits into a frame', async t => {
  const most = Number.MAX_SAFE_INTEGER
  const leg = { rtt_ms: 1e9, retransmits: most }
  const address = `[${'f'.repeat(4)}:${Array(7).fill('ffff').join(':')}]:65535`
  const id = '01KCD3F0P7Q4Y6Z8V1T5S9R2NA'
  const row: Row = {
    ...{
      id: most,
      key: 1e300,
      rule_id: id,
      protocol: 'tcp',
      source: address,
      listen: address,
      target: address
    },
    ...{ age_ms: most, idle_ms: most, bytes_in: most, bytes_out: most, held_by: 'h'.repeat(64) },
    ...{ caller: leg, server: leg, path: planPath({ next: id, others: [id, id], key: 2 ** 32 - 1 }) }
  }
  const codec = openCodec([...wireMessages, ...listMessages])
  const page = {
    run: id,
    matched: most,
    bytes_in: most,
    bytes_out: most,
    rows: Array<Row>(maxRows).fill(row)
  }

  t.ok(codec.encode(List.response, page).length < frameLimit - 256)
})
