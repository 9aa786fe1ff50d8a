import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import { openApiClient } from '../../cli/api/api-client.ts'
import { fills } from '../commands.ts'
import plugin from '../plugin.ts'
import { rateLimitFixture } from './fixture.ts'

type Args = Readonly<Record<string, unknown>>

t.test('commands set and remove limits of a rule and of an owner', async t => {
  const { server, push, get, clientId: client } = await rateLimitFixture(t)
  const { body } = await push({ owner: 'ann' })
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
  const pair = { client: 'edge', owner: 'ann' }

  await run('rule set-limit', { rule: body.rule_id, concurrent_connections: 3 })
  t.same((await get(body.rule_id))['rate_limit'], { concurrent_connections: 3 })
  await run('rule set-limit', { rule: body.rule_id })
  t.equal((await get(body.rule_id))['rate_limit'], null)
  await run('owner-limit set', { ...pair, bandwidth_in_bps: 8000 })
  await run('owner-limit show', pair)
  await run('owner-limit show', { client: 'ann', owner: 'edge' }) // the former order
  await run('owner-limit list', { client })
  await run('owner-limit delete', pair)

  t.match(printed, [
    { rule_id: body.rule_id, concurrent_connections: 3 },
    { rule_id: body.rule_id },
    { owner_id: 'ann', bandwidth_in_bps: 8000 },
    { owner_id: 'ann', bandwidth_in_bps: 8000 },
    { owner_id: 'ann', bandwidth_in_bps: 8000 },
    [{ owner_id: 'ann', rule_count: 1, has_rate_limit: true }],
    'the rules of ann on edge no longer have a common limit'
  ])
})

t.test('rule push has an option for each limit; without options the body has no limits', async t => {
  const [pushOptions] = fills
  const { body } = pushOptions!.make(() => ({})) as { body: (args: Args) => object } // of the slot that it fills

  t.same(body({ client: 'edge', concurrent_connections: 3 }), { rate_limit: { concurrent_connections: 3 } })
  t.same(body({ client: 'edge' }), {})
})
