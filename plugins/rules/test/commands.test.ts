import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { commands, targetOf } from '../commands.ts'

/** Runs a command against an API that remembers what it was asked. */
async function run(name: string, args: object) {
  const asked: unknown[] = []
  const printed: unknown[] = []
  const remember = async (...request: unknown[]) => {
    asked.push(request)
    return []
  }
  const call = {
    args,
    api: { get: remember, list: remember, send: remember },
    print: { data: (value: unknown) => printed.push(value), line: (text: string) => printed.push(text) }
  } as unknown as CommandCall<never> // what these commands touch of it
  await commands.find(command => command.name === name)?.run(call)
  return { asked, printed }
}

t.test('push sends the whole rule', async t => {
  const { asked } = await run('rule push', {
    client: 'edge',
    listen: '8080',
    target: ['10.0.0.1:80', '[::1]:81@5'],
    protocol: 'tcp',
    ack_timeout_secs: 9
  })

  t.same(asked, [
    [
      'POST',
      '/v1/rules?ack_timeout_secs=9',
      {
        client: 'edge',
        protocol: 'tcp',
        listen_port: 8080,
        targets: [
          { host: '10.0.0.1', port: 80 },
          { host: '[::1]', port: 81, priority: 5 }
        ]
      }
    ]
  ])
})

t.test('push takes a range of ports', async t => {
  const { asked } = await run('rule push', { client: 'edge', listen: '80-90', target: ['a:80'] })

  t.match(asked, [['POST', '/v1/rules', { listen_port: 80, listen_port_end: 90 }]])
})

t.test('what is no port or no target is said so', async t => {
  for (const listen of ['', 'http', '80-', '-80', '8080:80', '123456'])
    await t.rejects(
      run('rule push', { client: 'edge', listen, target: ['a:80'] }),
      { message: /is no port and no range/ },
      listen
    )
  for (const target of ['', 'a', 'a:', ':80', 'a:b', '::1:80', '[::1]', 'a:80@', 'a:80@x'])
    t.throws(() => targetOf(target), { message: /is not host:port/ }, target)
})

t.test('the others ask what they say', async t => {
  t.same((await run('rule list', {})).asked, [['/v1/rules']])
  t.same((await run('rule list', { client: 'a b', owner: 'ada' })).asked, [
    ['/v1/rules?client=a+b&owner=ada']
  ])
  t.same((await run('rule show', { rule: 'x/y' })).asked, [['/v1/rules/x%2Fy']])
  const removed = await run('rule remove', { rule: 'x', ack_timeout_secs: 3 })
  t.same(removed.asked, [['DELETE', '/v1/rules/x?ack_timeout_secs=3']])
  t.same(removed.printed, ['rule x is removed'])
})
