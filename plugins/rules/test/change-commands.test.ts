// `rule set`, `rule edit`, `rule pause` and `rule resume`, against a server.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type ErrorCode, Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import type { Api, CommandCall } from '../../../kernel/cli/command.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { commands } from '../commands.ts'
import { color, colors } from './colors.ts'
import type { ErrorReply } from './fixture.ts'
import { editable, patchFixture, plugins } from './patch-fixture.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

async function commandFixture(t: Test, made: object = {}) {
  const capabilities = { ...editable.capabilities, [color.capability.id]: color.capability.since }
  const on = await patchFixture(t, made, { capabilities }, { plugins: [...plugins, colors] })
  const requests: string[] = []
  const request = async (method: Method, path: string, body?: object, headers?: Record<string, string>) => {
    requests.push(`${method} ${path}`)
    const reply = await on.app.call<RuleRecord & ErrorReply>(method, path, body, headers)
    if (reply.status < 300) return reply.body
    const { code, message, details } = reply.body.error
    throw new Fault({ code, http: reply.status, exit: 5 } satisfies ErrorCode, message, { details })
  }
  const api = {
    get: (path: string) => request('GET', path),
    list: (path: string) => request('GET', path),
    refusal: async (http: number, { code, message }: ErrorReply['error']) =>
      new Fault({ code, http, exit: 5 }, message),
    send: request,
    call: (
      _: string,
      { path, body, headers }: { path: { rule_id: string }; body: object; headers: Record<string, string> }
    ) => request('PATCH', `/v1/rules/${path.rule_id}`, body, headers)
  } as unknown as Api // as far as these commands use it
  const run = async (name: string, args: object, more: Partial<CommandCall<object>> = {}) => {
    const printed: string[] = []
    const call = {
      args,
      api,
      filled: () => [],
      env: {},
      input: {},
      print: {
        data: (value: RuleRecord) => printed.push(value.rule_id),
        note: (text: string) => printed.push(text),
        done: (text: string) => printed.push(text)
      },
      confirm: async () => {
        throw new Error('no')
      },
      ...more
    } as unknown as CommandCall<never>
    const failure = await commands
      .find(command => command.name === name)
      ?.run(call)
      .catch((error: unknown) => error)
    return { printed, failure: failure instanceof Fault ? failure : null }
  }
  return { ...on, requests, run }
}

t.test('properties are set by name, with the types of their schema', async t => {
  const { app, id, run } = await commandFixture(t)
  const set = (...assignment: string[]) => run('rule set', { rule: [id, ...assignment], existing: 'drain' })

  t.same((await set('targets=10.0.0.2:81,[::1]:82@7', 'listen_port=9000', 'prefer_ipv6=true')).failure, null)
  t.same((await set('rate_limit.bandwidth_in_bps=1.5M', 'rate_limit.concurrent_connections=7')).failure, null)
  t.same((await set('sni_pattern=a.example.org', 'rate_limit.concurrent_connections=')).failure, null)

  t.match(await app.get(id), {
    targets: [
      { host: '10.0.0.2', port: 81, priority: 0 },
      { host: '::1', port: 82, priority: 7 }
    ],
    listen_port: 9000,
    prefer_ipv6: true,
    sni_pattern: 'a.example.org',
    rate_limit: { bandwidth_in_bps: 1_500_000, concurrent_connections: undefined }
  })
})

t.test('targets take properties of plugins in `rule push` and `rule set`', async t => {
  const { app, id, run } = await commandFixture(t)
  const colorsOf = async (rule: string) => (await app.get(rule)).targets.map(target => Object(target).color)

  t.same(
    (await run('rule set', { rule: [id, 'targets=10.0.0.2:81@4+color=Blue,10.0.0.2:81'] })).failure,
    null
  )
  t.same(await colorsOf(id), ['blue', undefined])
  const target = ['10.0.0.3:80+color=red']
  const pushed = await run('rule push', { client: 'edge', listen: '9100', target })
  t.equal(pushed.failure, null)
  const [made] = (await app.call<RuleRecord[]>('GET', '/v1/rules?port=9100')).body
  t.same(await colorsOf(made?.rule_id ?? ''), ['red'])
  const refused = await run('rule set', { rule: [id, 'targets=a:1+colour=red'] })
  t.match(refused.failure, { message: '/targets/0/colour is unknown here; did you mean color?' })
  t.match((await run('rule set', { rule: [id, 'targets=a:1+Color'] })).failure, {
    message: /is not host:port/
  })
})

t.test('the server refuses an unknown property and names the nearest known one', async t => {
  const { app, id, run } = await commandFixture(t)
  const before = await app.get(id)
  for (const [assignment, message] of [
    ['listen_prot=1', '/listen_prot is unknown here; did you mean listen_port?'],
    ['rate_limit.wat=1', '/rate_limit/wat is unknown here'],
    ['paused.wat=1', /^\/paused must be boolean/],
    ['=paused', '=paused is not key=value']
  ] as const)
    t.match((await run('rule set', { rule: [id, assignment] })).failure, { message })
  t.same(await app.get(id), before)
})

const none = '01K9ZJ4M5N6P7Q8R9S0TABCDEF'

t.test('rules are paused and resumed together, and one refusal does not stop the others', async t => {
  const { app, id, run } = await commandFixture(t)

  t.match(await run('rule pause', { rule: [id, id] }), { printed: [`rule ${id} is paused`], failure: null })
  t.match(await app.get(id), { state: 'paused' })
  const { printed, failure } = await run('rule resume', { rule: [none, id], yes: true })
  t.match(printed, [`${none}  rule_not_found: there is no rule ${none}\n1 of 2 rules are resumed`])
  t.match(failure, { message: `1 of 2 rules are refused; the first: there is no rule ${none}` })
})

t.test('what some rules would refuse is told before any of them changes', async t => {
  const { app, id, run } = await commandFixture(t)
  const asked: unknown[] = []
  const confirm: CommandCall<object>['confirm'] = async (question, { unattended } = {}) => {
    asked.push(question, unattended)
    throw new Fault(wrongUsage, 'not confirmed')
  }

  t.match((await run('rule pause', { rule: [none, id] }, { confirm })).failure, { message: 'not confirmed' })
  t.same(asked, [`${none}  rule_not_found: there is no rule ${none}. Pause the other 1?`, 'refuse'])
  t.match(await app.get(id), { state: 'active' })

  const agreed = await run('rule pause', { rule: [none, id] }, { confirm: async () => {} })
  t.match(agreed, { failure: { message: /1 of 2 rules are refused/ } })
  t.match(await app.get(id), { state: 'paused' })
})

t.test('rules that match a filter are shown, confirmed and changed together', async t => {
  const { app, id, run, requests } = await commandFixture(t)
  const { rule_id: other } = (await app.push({ listen_port: 8081 })).body
  const { rule_id: third } = (await app.push({ listen_port: 8082, paused: true })).body
  const asked: unknown[] = []
  const confirm: CommandCall<object>['confirm'] = async (question, { losses, unattended } = {}) =>
    void asked.push(question, await losses?.(), unattended)
  const staging = { client: 'edge', state: 'active' }

  const set = await run('rule set', { ...staging, rule: ['targets=10.0.0.9:90'] }, { confirm })
  t.same(set, { printed: ['2 of 2 rules are changed'], failure: null })
  t.same(asked, [
    'Change 2 rules?',
    [`${id}  edge  tcp/8080  active`, `${other}  edge  tcp/8081  active`],
    'refuse'
  ])
  for (const changed of [id, other]) t.match(await app.get(changed), { targets: [{ host: '10.0.0.9' }] })
  t.match(await app.get(third), { targets: [{ host: '10.0.0.1' }] })

  const rehearsed = await run('rule pause', { ...staging, dry_run: true })
  t.same(rehearsed.printed, ['2 of 2 rules would be paused'], 'without a question')
  t.match(await app.get(id), { state: 'active' })
  requests.length = 0
  t.match((await run('rule pause', staging)).failure, null, 'a no throws')
  t.same(requests, ['GET /v1/rules?client=edge&state=active'], 'and changes nothing')

  const failed = { client: 'edge', state: 'failed' }
  t.same((await run('rule pause', failed, { confirm })).printed, ['no rule matches'])
  t.match((await run('rule pause', { ...staging, owner: 'nobody' }, { confirm })).failure, {
    errorCode: { code: 'user_not_found' }
  })
  t.match((await run('rule pause', { client: 'edge', state: 'nope' }, { confirm })).failure, {
    message: /state must be one of pending, active, paused/
  })
  t.match((await run('rule pause', { ...staging, rule: [id] })).failure, {
    message: /either RULE.* or a filter/
  })
  t.match((await run('rule set', { rule: [id] })).failure, { message: /^say what to set: key=value/ })
})

t.test('rule edit sends only the differences, and nothing without a change', async t => {
  const { app, id, run, requests } = await commandFixture(t, { rate_limit: { concurrent_connections: 5 } })
  const edit = (command: string) => run('rule edit', { rule: id }, { env: { EDITOR: command } })

  t.same((await edit('true')).printed, [`rule ${id} is unchanged`])
  t.same(requests, [`GET /v1/rules/${id}`, 'GET /v1/openapi.json'])
  t.same((await edit('sed -i -e s/8080/9000/ -e /concurrent/d')).failure, null)

  t.match(await app.get(id), { listen_port: 9000, rate_limit: null })
})

/** Sets TMPDIR, where edited files stay if the server refuses them. */
function useOwnTmp(t: Test): void {
  const { TMPDIR: before } = process.env
  const dir = mkdtempSync(join(tmpdir(), 'edited-'))
  process.env['TMPDIR'] = dir
  t.teardown(() => {
    rmSync(dir, { recursive: true })
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  })
}

t.test('a refused edit keeps its file, and can be repeated at a terminal', async t => {
  useOwnTmp(t)
  const { app, id, run } = await commandFixture(t)
  const edit = (EDITOR: string, more = {}) => run('rule edit', { rule: id }, { env: { EDITOR }, ...more })
  const keptIn = (failure: Fault | null) => /kept in (\S+)$/.exec(failure?.message ?? '')?.[1] ?? ''

  for (const [editor, code] of [
    ['sed -i s/8080/[/', 'validation.schema'],
    ['sed -i s/8080/99999/', 'validation.schema'],
    [`f() { sed -i s/8080/9000/ "$1"; echo 'nope = 1' >> "$1"; }; f`, 'validation.unknown_field']
  ] as const) {
    const { failure } = await edit(editor)
    t.equal(failure?.errorCode.code, code, editor)
    t.ok(existsSync(keptIn(failure)))
  }
  t.match(await app.get(id), { listen_port: 8080 })

  const asked: string[] = []
  const again = await edit(
    'f() { grep -q 99999 "$1" && sed -i s/99999/9001/ "$1" || sed -i s/8080/99999/ "$1"; }; f',
    {
      input: { isTTY: true },
      confirm: async (question: string) => void asked.push(question)
    }
  )
  t.same(again.failure, null)
  t.match(asked, [/listen_port.*what you edited is kept in .*\. Edit it again\?$/])
  t.match(await app.get(id), { listen_port: 9001 })
})

t.test('an editor that fails leaves a file only if it has edited it', async t => {
  useOwnTmp(t)
  const { id, run } = await commandFixture(t)
  const edit = (EDITOR: string) => run('rule edit', { rule: id }, { env: { EDITOR } })

  for (const editor of ['/nowhere/editor', 'false', 'f() { rm "$1"; false; }; f'])
    t.match((await edit(editor)).failure, {
      message: /did not edit .* it ended with \d+; set VISUAL or EDITOR/
    })
  t.match((await edit('rm')).failure, {
    message: /rm did not edit .* the file is gone; set VISUAL or EDITOR/
  })
  t.same(readdirSync(tmpdir()), [])
  await edit('f() { echo >> "$1"; false; }; f')
  t.equal(readdirSync(tmpdir()).length, 1)
})

t.test('an edit of a rule that has changed in between is refused and keeps its file', async t => {
  useOwnTmp(t)
  const { app, id, run, patch } = await commandFixture(t)
  const { etag } = await app.get(id)
  await patch({ prefer_ipv6: true })
  const stale = { ...(await app.get(id)), etag, prefer_ipv6: false }
  const { failure } = await run(
    'rule edit',
    { rule: id },
    {
      env: { EDITOR: 'sed -i s/8080/9000/' },
      api: {
        get: async (path: string) => (path.endsWith('.json') ? (await app.call('GET', path)).body : stale),
        call: async (_: string, { body, headers }: { body: object; headers: Record<string, string> }) => {
          const reply = await app.call<ErrorReply>('PATCH', `/v1/rules/${id}`, body, headers)
          const { code, message } = reply.body.error
          throw new Fault({ code, http: reply.status, exit: 5 }, message)
        }
      } as unknown as Api
    }
  )
  t.equal(failure?.errorCode.code, 'resource_changed')
  t.match(
    readFileSync(/kept in (\S+)$/.exec(failure?.message ?? '')?.[1] ?? '', 'utf8'),
    'listen_port = 9000'
  )
  t.match(await app.get(id), { listen_port: 8080 })
})
