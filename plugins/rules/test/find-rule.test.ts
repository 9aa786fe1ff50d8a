// The RULE argument of commands, against a server.
import t, { type Test } from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import { openPrint } from '../../cli/terminal/print.ts'
import { fills as health } from '../../multi-target/commands.ts'
import { fills as tlsName } from '../../sni/commands.ts'
import { capability as udp } from '../../udp/wire.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { columnSlot } from '../command-slots.ts'
import { findRule, findRuleId } from '../commands/find-rule.ts'
import { commands } from '../commands.ts'
import { rulesFixture } from './fixture.ts'
import { editable } from './patch-fixture.ts'

/** Rules on the clients paris and lyon, and a function that finds one of them as the operator. */
async function findFixture(t: Test) {
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', 'udp', 'multi-target', 'sni'] })
  const capabilities = { ...editable.capabilities, [udp.id]: udp.since }
  for (const name of ['paris', 'lyon', 'a:1/x']) await app.connect(await app.enroll(name), { capabilities })
  await app.user('ann')
  const requests: string[] = []
  const get = async (path: string) => {
    requests.push(path)
    const { status, body } = await app.call<{ error: { code: string; message: string } }>('GET', path)
    if (status === 200) return body
    throw new Fault({ code: body.error.code, http: status, exit: 8 }, body.error.message)
  }
  const api = { get, list: get } as unknown as Api // as far as the functions use it
  const push = async (client: string, listen_port: number, more: object = {}) =>
    (await app.push({ client, listen_port, ...more })).body.rule_id
  const find = (text: string) => findRuleId(api, text)
  return { ...app, api, requests, pushOn: push, find }
}

t.test('a rule is found by id, place, CLIENT/NAME, name and the beginning of its id', async t => {
  const { pushOn, find, requests, api } = await findFixture(t)
  const web = await pushOn('paris', 8080, { name: 'web' })
  const dns = await pushOn('paris', 53, { protocol: 'udp' })
  const dnsTcp = await pushOn('paris', 53, { name: 'dns' })
  const odd = await pushOn('a:1/x', 80, { name: 'odd' })

  t.equal(await find(web), web)
  t.same(requests, [], 'a whole id takes no request')
  for (const [text, id] of [
    ['paris:8080', web],
    ['paris:8080/tcp', web],
    ['paris:53', dnsTcp],
    ['paris:53/udp', dns],
    ['a:1/x:80', odd],
    ['paris/web', web],
    ['a:1/x/odd', odd],
    ['web', web],
    [web.slice(0, 25), web]
  ] as const)
    t.equal(await find(text), id, text)
  t.match(await findRule(api, 'paris/dns'), { rule_id: dnsTcp, name: 'dns' })
})

t.test('the first form that exists counts', async t => {
  const { pushOn, find, enroll, connect } = await findFixture(t)
  await connect(await enroll('paris:53'))
  const named = await pushOn('paris:53', 80, { name: 'udp' })
  t.equal(await find('paris:53/udp'), named, 'CLIENT/NAME, while nothing listens there')
  const dns = await pushOn('paris', 53, { protocol: 'udp' })
  t.equal(await find('paris:53/udp'), dns)
  t.equal(await find('paris:53/UDP'), dns, 'in any case')
})

t.test('a name of several rules is refused with all of them and their owners', async t => {
  const { pushOn, find } = await findFixture(t)
  const own = await pushOn('paris', 8080, { name: 'web' })
  const anns = await pushOn('paris', 8081, { name: 'web', owner: 'ann' })
  const lyons = await pushOn('lyon', 8080, { name: 'web' })

  const message = [
    'web matches 3 rules; give CLIENT:PORT, CLIENT/NAME or an id:',
    `  ${own}  paris  tcp/8080  web  of _operator`,
    `  ${anns}  paris  tcp/8081  web  of ann`,
    `  ${lyons}  lyon  tcp/8080  web  of _operator`
  ].join('\n')
  await t.rejects(find('web'), { errorCode: { code: 'usage', exit: 2 }, message })
  await t.rejects(find('paris/web'), { errorCode: { exit: 2 }, message: /matches 2 rules/ })
  t.equal(await find('lyon/web'), lyons)
})

t.test('a rule that is removed does not hide its successor', async t => {
  const { pushOn, find, call } = await findFixture(t)
  const old = await pushOn('paris', 8080, { name: 'web' })
  await call('DELETE', `/v1/rules/${old}`)
  t.equal(await find('web'), old, 'it still drains')
  const next = await pushOn('paris', 8080, { name: 'web' })

  t.equal(await find('web'), next)
  t.equal(await find('paris:8080'), next)
})

t.test('an unknown rule is refused with what is missing, and what to give', async t => {
  const { pushOn, find } = await findFixture(t)
  const web = await pushOn('paris', 8080, { protocol: 'udp' })

  for (const [text, code, message] of [
    ['nope', 'rule_not_found', /there is no rule nope: give a name, CLIENT\/NAME, CLIENT:PORT/],
    ['No rule!', 'rule_not_found', /there is no rule No rule!/],
    [web.slice(0, 7), 'rule_not_found', /8 characters of an id/],
    ['paris/nope', 'rule_not_found', /there is no rule paris\/nope/],
    ['paris:1', 'rule_not_found', /no rule listens on tcp port 1 of paris$/],
    ['paris:8080', 'rule_not_found', /its udp rule is paris:8080\/udp/],
    ['paris:99999', 'rule_not_found', /port 99999/],
    ['parys:8080', 'client_not_found', /no client is named parys/],
    ['parys/web', 'client_not_found', /no client is named parys/]
  ] as const)
    await t.rejects(find(text), { errorCode: { code, exit: 8 }, message }, text)
})

t.test('rule list fits into 80 columns: the id is omitted first', async t => {
  const { api, pushOn } = await findFixture(t)
  const targets = [{ host: '127.0.0.1', port: 19_091 }]
  await pushOn('paris', 18_080, { targets, name: 'web' })
  for (const name of ['shop.example', 'blog.example'])
    await pushOn('paris', 18_443, { targets, sni_pattern: name })
  const lines: string[] = []
  const omitted: string[] = []
  const print = openPrint(
    'table',
    text => lines.push(...text.split('\n')),
    text => omitted.push(text),
    { width: 80, now: 0, paint: (_, text) => text }
  )
  const columns = [...health, ...tlsName].filter(({ slot }) => (slot as object) === columnSlot)
  const filled = (slot: object) =>
    slot === columnSlot ? columns.map(({ make }) => ({ value: make(() => ({})) })) : []
  const list = commands.find(({ name }) => name === 'rule list')

  await list?.run({ args: {}, api, filled, print } as never) // only what the command uses

  t.match(lines, [
    /^NAME +CLIENT_NAME +PORT +STATE +TARGETS +HEALTH +TLS_NAME/,
    /^web +paris +18080 +active +127\.0\.0\.1:19091 +unknown +-/,
    /^- +paris +18443 +active +127\.0\.0\.1:19091 +unknown +shop\.example/,
    /^- +paris +18443 +active +127\.0\.0\.1:19091 +unknown +blog\.example/
  ])
  for (const line of lines) t.ok(line.length <= 80, line)
  t.match(omitted, [/rule_id; use a wider terminal/])
})

t.test('rule set --name and --description name a rule', async t => {
  const { api, pushOn, get, call } = await findFixture(t)
  const id = await pushOn('paris', 8080)
  const send = async (method: 'PATCH', path: string, body: object) =>
    (await call<RuleRecord>(method, path, body)).body
  const set = commands.find(({ name }) => name === 'rule set')
  const run = (args: object) =>
    set?.run({ args, api: { ...api, send }, filled: () => [], print: { done() {} } } as never)

  await run({ rule: ['paris:8080'], name: 'web', description: 'a=b, the shop' })
  t.match(await get(id), { name: 'web', description: 'a=b, the shop' })
  await run({ rule: ['web', 'name=shop'], description: '' })
  t.match(await get(id), { name: 'shop', description: null })
})
