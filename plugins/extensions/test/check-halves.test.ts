// `sluice plugin check` finds faults that only a running agent, a browser or a refused call would show.
import { join } from 'node:path'
import t from 'tap'
import { conform } from '../../../kit/public.ts'
import { check } from './check-plugin.ts'

const proto = 'syntax = "proto3"; package acme; message Ask { int64 n = 1; } message Told { int64 n = 1; }'
const wire = `const N = Type.Object({ n: Type.Integer({ minimum: 0, maximum: 9 }) })
  const proto = new URL('./acme.proto', import.meta.url)
  const Ask = s.defineRequest({ name: 'acme.Ask', proto, body: N,
    response: s.defineMessage({ name: 'acme.Told', proto, body: N }) })`

/** Returns the source of an agent half, with code before it and members in it. */
const half = (members: string, before = ''): string => `import * as s from 'sluice/agent-plugin'
  const { Type } = s
  ${before}
  export default { name: 'acme', agent: '^1.0.0', ${members} }`

t.test('an agent half that fails in plan or start is reported', async t => {
  const problemsOf = async (members: string) =>
    (await check(t, '', '', { 'agent.js': half(members) })).problems

  t.match(await problemsOf("plan() { throw new Error('no plan') }"), [
    /^a rule is refused: 422 .*activation_failed/,
    /^agent half: plan fails: Error: no plan$/
  ])
  t.match(
    await problemsOf("plan() { throw new Error('no plan') }, closed() { throw new Error('no plan') }"),
    [/^a rule is refused/, /^agent half: plan fails/],
    'each problem once'
  )
  t.match(await problemsOf("async start() { throw new Error('no start') }"), [/^its first start: .*no start/])
  t.same(await problemsOf('plan() {}'), [])
})

t.test('an agent half without a server half is run', async t => {
  const dir = t.testdir({
    acme: {
      'README.md': '# acme',
      'package.json': '{"version":"1.2.3"}',
      'agent.js': half(
        "opened() {}, event() { throw new Error('no event') }, plan() { throw new Error('no plan') }"
      )
    }
  })

  const { version, problems } = await conform(join(dir, 'acme'))

  t.equal(version, '1.2.3')
  t.match(problems, [/^a rule is refused: 422/, /^agent half: plan fails: Error: no plan$/])
})

t.test('a configuration of an agent half without examples is noted, because the half cannot run', async t => {
  const config = 'config: Type.Object({ word: Type.String() })'

  const { problems, notes } = await check(t, '', '', { 'agent.js': half(config) })

  t.same(
    { problems, notes },
    { problems: [], notes: ['the agent half was not run: its config has no examples'] }
  )
})

t.test('a request without a handler, or that one half does not list, is reported', async t => {
  const answer = 'handlers: [s.respond(Ask, async (_call, { n }) => ({ n }))]'
  const lists = 'messages: [Ask, Ask.response]'
  const problemsOf = async (server: string, agent: string) =>
    (await check(t, wire, server, { 'acme.proto': proto, 'agent.js': half(agent, wire) })).problems

  t.same(await problemsOf(lists, lists), [
    'request acme.Ask has no handler; add one to `handlers` of the half that receives it'
  ])
  t.same(await problemsOf(`${lists}, ${answer}`, ''), [
    'message acme.Ask has a handler, but the agent half does not list it in `messages`'
  ])
  t.same(await problemsOf(`${lists}, ${answer}`, lists), [])
})

t.test('a code that the plugin defines and does not list is reported with its file', async t => {
  const codes =
    "import { defineCode } from 'sluice/plugin'\n export const bad = defineCode('acme_bad', 422, 3)\n"

  const { problems } = await check(t, "import './codes.js'", '', { 'codes.js': codes })

  t.same(problems, ['codes.js defines the code acme_bad; add it to `codes` of the plugin'])
})

t.test('a console module that does not parse or defines another element is reported', async t => {
  const page =
    "fills: [s.consolePageSlot.fill({ name: 'acme', title: { en: 'Acme' }, element: 'acme-page', module: new URL('./page.mjs', import.meta.url) })]"
  const problemsOf = async (source: string) => (await check(t, '', page, { 'page.mjs': source })).problems
  const define = (name: string): string => `customElements.define(${name}, class extends HTMLElement {})\n`

  t.same(await problemsOf(`const a = 1\nconst b = ;\n${define("'acme-page'")}`), [
    "console module of acme-page: line 2: SyntaxError: Unexpected token ';'"
  ])
  t.same(await problemsOf(define("'acme-pages'")), [
    'console module of acme-page: it defines acme-pages, not acme-page; use one name for both'
  ])
  t.same(await problemsOf('export {}'), [
    "console module of acme-page: it defines no element; add customElements.define('acme-page', ...)"
  ])
  t.same(await problemsOf(define("'acme-page'")), [])
  t.same(await problemsOf(`const name = 'acme-page'\n${define('name')}`), [])
})

t.test('an undeclared error of a built-in route that a plugin causes is reported', async t => {
  const { problems } = await check(
    t,
    "const closedNow = s.defineCode('acme_closed', 403, 5)",
    `codes: [closedNow], needs: { users: '^1.0.0' }, fills: [s.users.rowFieldSlot.fill({
      key: 'acme', schema: Type.Null(), async load() { throw new s.Fault(closedNow, 'closed') } })]`
  )

  t.match(problems, [
    /^user\.\S+ gave the error acme_closed, which it does not declare; declare it in `errors`/
  ])
})

t.test('a service that a plugin uses without needing its owner is reported with the remedy', async t => {
  const { problems } = await check(t, '', 'services: { acme: asFunction(({ grants }) => ({ grants })) }')

  t.match(problems, [/Could not resolve 'grants'.*; add 'grants': '\^\d+\.\d+\.\d+' to `needs`$/s])
})
