import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import { openApiClient } from '../../cli/api/api-client.ts'
import { minute, row, statsFixture } from '../../stats/test/fixture.ts'
import { noCounts } from '../counts.ts'
import plugin from '../plugin.ts'

type Args = Readonly<Record<string, unknown>>

t.test('the traffic of a client is found by the name of the client', async t => {
  const { server, edge, report } = await statsFixture(t, {
    plugins: ['users', 'clients', 'rules', 'stats', 'traffic']
  })
  const { agent, clientId, ruleId } = await edge('paris')
  await report(agent, { rows: [row(ruleId, 'minute', minute, { bytes_in: 7 })] })
  const printed: unknown[] = []
  const span = { from: minute, to: String(Number(minute) + 60) }
  const run = async (name: string, args: Args) => {
    const call: Pick<CommandCall<Args>, 'args' | 'api' | 'print'> = {
      args: { ...args, ...span },
      api: openApiClient({
        origin: server.origin,
        token: operatorToken,
        exitOf: async () => 1,
        plainHttp: 'refused'
      }),
      print: {
        data: value => void printed.push(value),
        done: text => void printed.push(text),
        value() {},
        format: 'table',
        note: text => void printed.push(text),
        paint: word => word,
        text: text => void printed.push(text)
      }
    }
    const command = plugin.commands?.find(command => command.name === name)
    await command?.run(call as CommandCall<Args>) // the members that these commands use
  }

  for (const client of ['paris', clientId]) {
    await run('traffic client', { client })
    await run('traffic client', { client, user: '_operator' })
    await run('traffic user', { user: '_operator', client })
  }
  await run('traffic user', { user: '_operator', csv: true })

  await run('traffic rule', { rule: ruleId, csv: true })
  await run('traffic top', {})
  await run('traffic top', { by: 'client', limit: 1, csv: true })

  const samples = [{ ...noCounts, ts: Number(minute), bytes_in: 7 }]
  const lines = `ts,bytes_in,bytes_out,connections,refused,datagrams_in,datagrams_out\n${minute},7,0,0,0,0,0`
  const sums = { bytes_in: 7, bytes_out: 0, connections: 0, refused: 0 }
  t.same(printed, [
    ...Array.from({ length: 6 }, () => samples),
    lines,
    lines,
    [{ key: ruleId, name: 'paris:8080', ...sums }],
    `key,name,bytes_in,bytes_out,connections,refused\n${clientId},paris,7,0,0,0`
  ])
  await t.rejects(run('traffic user', { user: '_operator', client: 'nowhere' }), { message: /nowhere/ })
})

t.test('--from 2026 is refused, not read as a second of 1970; a date begins at midnight UTC', async t => {
  const asked: string[] = []
  const api = {
    async call(_: string, { query }: { query: { from: number } }) {
      asked.push(String(query.from))
      return { samples: [] }
    }
  }
  const command = plugin.commands?.find(({ name }) => name === 'traffic global')
  const run = (from: string) =>
    command?.run({
      args: { from, to: '1800000000' },
      api,
      print: { data() {}, text() {} }
    } as unknown as CommandCall<Args>) // the members that this command uses

  for (const from of [
    '1767225600',
    '2026-01-01',
    '2026-01-01T00:00:00Z',
    '2026-01-01t01:00:00.5+01:00',
    '2026-01-01 00:00:00Z'
  ])
    await run(from)
  t.same(asked, Array(5).fill('1767225600'))

  for (const from of [
    '2026',
    '2026-01',
    '20260101',
    '2026-02-30',
    '2026-02-30T00:00:00Z',
    '2026-01-01T00:00',
    '2026-01-01T00:00:00',
    '2026-13-01',
    'January 5',
    'yesterday',
    '-1',
    '1e9',
    '1767225600000',
    ''
  ])
    await t.rejects(async () => run(from), { message: /--from .* is not a time; write/ }, from)
})
