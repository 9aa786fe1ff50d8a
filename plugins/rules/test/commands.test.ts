import t from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { openPrint } from '../../cli/terminal/print.ts'
import { ruleNotFound } from '../codes.ts'
import { parseTarget } from '../commands/request-parts.ts'
import { commands } from '../commands.ts'
import { columnSlot, pushOptionsSlot } from '../exports.ts'

const filled = (slot: object) =>
  slot === pushOptionsSlot ? pushOptions : slot === columnSlot ? [{ value: 'pace_secs' }] : []

const pushOptions = [
  {
    value: {
      args: {},
      body: ({ pace }: { pace?: number }) => (pace === undefined ? {} : { pace_secs: pace })
    }
  }
]

const a = '01K9ZJ4M5N6P7Q8R9S0TABCDEF'
const gone = '01K9ZJ4M5N6P7Q8R9S0TABCDEG'

const rules = [
  { rule_id: 'a', state: 'active' },
  { rule_id: 'b', state: 'failed' }
]

/** Runs a command against an API that records the requests. */
async function run(name: string, args: object) {
  const requests: unknown[] = []
  const printed: unknown[] = []
  const asked: string[] = []
  const record = async (...request: unknown[]) => {
    requests.push(request)
    if (String(request).includes('gone')) throw new Fault(ruleNotFound, 'there is no such rule')
    if (request[1] === '/v1/rules/bulk') return { results: [] }
    const [, state] = /[?&]state=(\w+)/.exec(String(request)) ?? []
    if (!String(request).startsWith('/v1/rules')) return []
    return rules.filter(rule => state === undefined || rule.state === state)
  }
  const call = {
    args,
    api: { get: record, list: record, send: record },
    filled,
    print: { data: (value: unknown) => printed.push(value), done: (text: string) => printed.push(text) },
    confirm: async (question: string) => void asked.push(question)
  } as unknown as CommandCall<never> // only the members that these commands use
  const failure = await commands
    .find(command => command.name === name)
    ?.run(call)
    .catch((error: Fault) => error)
  return { requests, printed, asked, failure: failure instanceof Fault ? failure : null }
}

t.test('push sends the whole rule', async t => {
  const { requests } = await run('rule push', {
    client: 'edge',
    listen: '8080',
    target: ['10.0.0.1:80', '[::1]:81@5'],
    protocol: 'tcp',
    ack_timeout_secs: 9
  })

  t.same(requests, [
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

t.test('push accepts the options that plugins add to it', async t => {
  const { requests } = await run('rule push', { client: 'edge', listen: '80', target: ['a:80'], pace: 7 })

  t.match(requests, [['POST', '/v1/rules', { listen_port: 80, pace_secs: 7, pace: undefined }]])
})

t.test('push accepts a range of ports', async t => {
  const { requests } = await run('rule push', { client: 'edge', listen: '80-90', target: ['a:80'] })

  t.match(requests, [['POST', '/v1/rules', { listen_port: 80, listen_port_end: 90 }]])
})

t.test('an invalid port or target is reported', async t => {
  for (const listen of ['', 'http', '80-', '-80', '8080:80', '123456'])
    t.match((await run('rule push', { client: 'edge', listen, target: ['a:80'] })).failure, {
      message: /is neither a port nor a range/
    })
  for (const target of [
    '',
    'a',
    'a:',
    ':80',
    'a:b',
    '::1:80',
    '[::1]',
    'a:80@',
    'a:80@x',
    'a:80*',
    'a:80*3@1',
    'http://a:80'
  ])
    t.throws(() => parseTarget(target), { message: /is not host:port/ }, target)
  t.same(parseTarget('[::1]:80@1*3'), { host: '[::1]', port: 80, priority: 1, weight: 3 })
  t.same(parseTarget('a:80*0'), { host: 'a', port: 80, weight: 0 })
  t.same(parseTarget('a:80@2+color=blue+note=x=y+z'), {
    host: 'a',
    port: 80,
    priority: 2,
    color: 'blue',
    note: 'x=y+z'
  })
})

t.test('the other commands send their requests', async t => {
  t.same((await run('rule list', {})).requests, [['/v1/rules']])
  t.same((await run('rule list', { client: 'a b', owner: 'ada' })).requests, [
    ['/v1/rules?client=a+b&owner=ada']
  ])
  t.same((await run('rule list', { name: 'web', port: 80 })).requests, [['/v1/rules?name=web&port=80']])
  t.same((await run('rule show', { rule: a })).requests, [[`/v1/rules/${a}`]])
  const removed = await run('rule remove', { rule: [a], ack_timeout_secs: 3 })
  t.same(removed.requests, [['DELETE', `/v1/rules/${a}?ack_timeout_secs=3`]])
  t.same(removed.printed, [`rule ${a} is removed`])
  t.same(removed.asked, [])
})

t.test(
  'a table of rules shows targets as host:port and columns of plugins; JSON has the whole record',
  async t => {
    const target = (host: string, port: number, priority: number) => ({ host, port, priority })
    const targets = [target('a.example', 80, 0), target('2001:db8::5', 443, 1)]
    const ports = { protocol: 'tcp', listen_port: 80, listen_port_end: 90 }
    const rule = { rule_id: '01', client_name: 'edge', ...ports, state: 'active', targets, pace_secs: 7 }
    for (const output of ['table', 'json'] as const) {
      const lines: string[] = []
      const print = openPrint(
        output,
        text => lines.push(...text.split('\n')),
        () => {}
      )
      const api = { list: async () => [rule] }
      const call = { args: {}, api, filled, print } as unknown as CommandCall<never>

      await commands.find(({ name }) => name === 'rule list')?.run(call)

      if (output === 'json') t.same(JSON.parse(lines.join('')), [rule])
      else
        t.match(lines, [
          /^CLIENT_NAME +PORT +STATE +TARGETS +PACE_SECS +OWNER +STATE_REASON +RULE_ID$/,
          /^edge +80-90 +active +a\.example:80, \[2001:db8::5\]:443 +7 .* 01$/
        ])
    }
  }
)

t.test('several rules are removed with one request, and one refusal does not stop the others', async t => {
  const error = { code: 'rule_not_found', message: 'there is no rule gone' }
  const results = [
    { rule_id: a, status: 204 },
    { rule_id: gone, status: 404, error }
  ]
  for (const output of ['table', 'json'] as const) {
    const lines: string[] = []
    const requests: unknown[] = []
    const print = openPrint(
      output,
      text => lines.push(text),
      () => {}
    )
    const api = {
      send: async (...request: unknown[]) => {
        requests.push(request)
        return { matched: 2, results }
      },
      refusal: async () => new Fault(ruleNotFound, error.message)
    }
    const call = {
      args: { rule: [a, gone, a], yes: true },
      api,
      filled,
      print
    } as unknown as CommandCall<never>
    const failure = await commands
      .find(({ name }) => name === 'rule remove')
      ?.run(call)
      .catch((error: unknown) => error)

    t.same(requests, [['POST', '/v1/rules/bulk', { ids: [a, gone], action: 'delete' }]])
    if (output === 'json') t.same(JSON.parse(lines.join('')), { removed: [a], refused: [results[1]] })
    else t.same(lines, [`${gone}  rule_not_found: there is no rule gone\n1 of 2 rules are removed`])
    t.match(failure, {
      errorCode: ruleNotFound,
      message: '1 of 2 rules are refused; the first: there is no rule gone'
    })
  }
})

t.test('more rules than one request can change are refused before anything is sent', async t => {
  const rules = Array.from({ length: 1001 }, (_, at) => ({ rule_id: String(at), state: 'active' }))
  const api = { list: async () => rules, send: () => t.fail('a change is sent') }
  const call = { args: { client: 'paris' }, api, filled } as unknown as CommandCall<never>

  await t.rejects(async () => commands.find(({ name }) => name === 'rule pause')?.run(call), {
    errorCode: { code: 'limit_reached' },
    message: '1001 rules match; at most 1000 can change at once: choose fewer, for example by --client'
  })
})

t.test('rules that match a filter are removed after a confirmation', async t => {
  const { requests, asked } = await run('rule remove', { state: 'failed' })

  t.same(requests, [['/v1/rules?state=failed'], ['DELETE', '/v1/rules/b']])
  t.same(asked, ['Remove 1 rule?'])
  t.match((await run('rule remove', {})).failure, {
    message: /either RULE \(one or more\) or a filter/
  })
  t.match((await run('rule remove', { rule: ['a'], owner: 'ann' })).failure, { errorCode: { code: 'usage' } })
})

t.test('rule bulk sends the same requests', async t => {
  const bulk = (args: object) => run('rule bulk', args)

  t.match(await bulk({ action: 'pause', rule: [a, gone], atomic: true, dry_run: true }), {
    requests: [['POST', '/v1/rules/bulk', { ids: [a, gone], action: 'pause', atomic: true, dry_run: true }]],
    asked: []
  })
  t.match(await bulk({ action: 'delete', state: 'failed' }), {
    requests: [['/v1/rules?state=failed'], ['DELETE', '/v1/rules/b']],
    asked: ['Remove 1 rule?']
  })
  t.match((await bulk({ action: 'pause' })).failure, { message: /either RULE/ })
  t.match((await bulk({ action: 'pause', rule: ['a'], set: ['x=y'] })).failure, { message: /--set/ })
})
