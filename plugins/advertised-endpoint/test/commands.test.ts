import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { operatorToken, testServer } from '../../../kit/test-server.ts'
import { openApiClient } from '../../cli/api/api-client.ts'
import plugin from '../plugin.ts'

type Args = Readonly<Record<string, unknown>>

t.test('commands show, set and clear the endpoint', async t => {
  const { server } = await testServer(t, { plugins: ['advertised-endpoint'] })
  const printed: unknown[] = []
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
        done() {},
        value() {},
        text() {},
        note() {},
        paint: word => word,
        format: 'table'
      }
    }
    const command = plugin.commands?.find(command => command.name === name)
    await command?.run(call as CommandCall<Args>) // the only members that these commands use
  }

  await run('settings show')
  await run('settings set-endpoint', { endpoint: 'localhost:1' })
  await run('settings clear-endpoint')

  t.match(printed, [
    { source: 'loopback' },
    { effective: 'localhost:1', source: 'override' },
    { source: 'loopback' }
  ])
})
