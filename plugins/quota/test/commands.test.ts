import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import { openApiClient } from '../../cli/api/api-client.ts'
import plugin from '../plugin.ts'
import { quotaFixture } from './fixture.ts'

type Args = Readonly<Record<string, unknown>>

t.test('quotas are set, cleared, shown, listed and deleted from the command line', async t => {
  const { server, use, clientId: client } = await quotaFixture(t)
  const printed: unknown[] = []
  const lines: string[] = []
  const run = async (name: string, args: Args = {}) => {
    const call: Pick<CommandCall<Args>, 'args' | 'api' | 'print'> = {
      args,
      api: openApiClient({
        origin: server.origin,
        token: operatorToken,
        exitOf: async () => 1,
        plainHttp: 'refused'
      }),
      print: {
        data: value => void printed.push(value),
        done: text => void lines.push(text),
        value() {},
        format: 'table',
        note: text => void lines.push(text),
        paint: word => word,
        text: text => void lines.push(text)
      }
    }
    const command = plugin.commands?.find(command => command.name === name)
    await command?.run(call as CommandCall<Args>) // the members that these commands use
  }
  const pair = { user: 'ann', client: 'edge' }

  await run('quota set', { ...pair, monthly_bytes: 1000 })
  await use(600, 1)
  await run('quota show', pair)
  await run('quota list', { user: 'ann' })
  await run('quota list', { client })
  await run('quota list', { ...pair, user: 'bob' })
  await run('quota clear', pair)
  await run('quota delete', pair)
  await run('quota list', { user: 'ann' })

  t.match(printed, [
    { monthly_bytes: 1000, bytes_used: 0 },
    { bytes_used: 600, bytes_remaining: 400 },
    [{ user_id: 'ann', client_id: client }],
    [{ user_id: 'ann' }],
    [],
    { bytes_used: 0 },
    []
  ])
  t.same(lines, ['ann has no quota on edge'])
})
