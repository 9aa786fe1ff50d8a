import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import { openApi } from '../../cli/api.ts'
import { minute, row, statsFixture } from '../../stats/test/fixture.ts'
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
      api: openApi({ origin: server.origin, token: operatorToken, codes: [], plainHttp: 'refused' }),
      print: { data: value => void printed.push(value), value() {}, line: text => void printed.push(text) }
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

  const samples = [{ ts: Number(minute), bytes_in: 7, bytes_out: 0 }]
  t.match(printed, [...Array.from({ length: 6 }, () => samples), `ts,bytes_in,bytes_out\n${minute},7,0`])
  await t.rejects(run('traffic user', { user: '_operator', client: 'nowhere' }), { message: /nowhere/ })
})
