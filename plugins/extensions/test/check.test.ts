// `sluice plugin check` finds every fault that a server would find, at its start or at a request.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { builtinPlugins } from '../../../config/builtin-plugins.ts'
import { type Conformance, conform } from '../../../kit/public.ts'
import { notRepeated } from '../../../test/support/store.ts'
import { settingsFor } from '../catalogue.ts'
import { scaffold } from '../scaffold.ts'
import { acme, check, lastFolder } from './check-plugin.ts'

const skip = notRepeated('its plugins are not repeatable, and judged by the same code')

const template = readFileSync(join(import.meta.dirname, '../template/rule-field/field.ts.txt'), 'utf8')

t.test('a duplicate route and an open schema are reported', async t => {
  const taken = `const route = defineRoute({ ...open, url: '/v1/rules', action: 'rule.create', schema: () => ({ reply: Type.Null() }), run() {} })`
  t.same((await check(t, taken, 'routes: [route]')).problems, [
    'route POST /v1/rules is claimed by rules and acme',
    'action rule.create is claimed by rules and acme'
  ])

  const ajar = `const route = defineRoute({ ...open, url: '/v1/acme', action: 'acme.put',
    schema: () => ({ body: Type.Object({}), reply: Type.Null() }), run() {} })`
  t.same((await check(t, ajar, 'routes: [route]')).problems, [
    'its first start: plugin acme did not start: acme.put: an open schema would ignore a misspelled field; add additionalProperties: false'
  ])
})

t.test('a timer or a server that an import starts is reported', async t => {
  const importOf = async (before: string) => {
    const { problems } = await check(t, before, '')
    const { left } = await import(join(t.testdirName, lastFolder(), 'plugin.js'))
    return { problems, left }
  }

  const timer = await importOf('export const left = setInterval(() => {}, 60_000)')
  clearInterval(timer.left)
  const server = await importOf(`import { createServer } from 'node:net'
    export const left = createServer().listen(0)`)
  server.left.close()

  t.same(timer.problems, ['importing it has effects (Timeout): acquire in `start`'])
  t.same(server.problems, ['importing it has effects (TCPServerWrap): acquire in `start`'])
})

t.test('a stopped timer and other work in the process are not effects of an import', async t => {
  let immediate = setImmediate(function again() {
    immediate = setImmediate(again)
  })
  const tick = setInterval(() => setTimeout(() => {}, 5), 1)
  t.teardown(() => {
    clearImmediate(immediate)
    clearInterval(tick)
  })

  const { problems } = await check(
    t,
    `clearInterval(setInterval(() => {}, 60_000))
    setImmediate(() => {})
    await new Promise(resolve => setTimeout(resolve, 20))`,
    ''
  )

  t.same(problems, [])
})

t.test('a schema without a reply is reported', async t => {
  const route = `defineRoute({ ...open, url: '/v1/acme', action: 'acme.put', schema: () => ({}), run() {} })`
  t.same((await check(t, '', `routes: [${route}]`)).problems, [
    'its first start: plugin acme did not start: acme.put: its schema has no reply; give Type.Null() for none'
  ])
})

t.test(
  'schemas that would fail or accept anything at a request are reported with route and part',
  async t => {
    const { problems } = await check(
      t,
      `const body = closed({ a: { type: 'strnig' }, b: Type.String({ pattern: '(' }), c: Type.Array(Type.String({ code: 'acme.none' })) })
    const routes = [
      defineRoute({ ...open, url: '/v1/acme', action: 'acme.put', schema: () => ({ body, reply: Type.Null() }), run() {} }),
      defineRoute({ ...open, method: 'GET', url: '/v1/acme/:id', action: 'acme.show',
        schema: () => ({ body: closed(), params: Type.Object({ name: Type.String() }), reply: Type.Null() }), run() {} })
    ]`,
      'routes'
    )

    t.match(problems, [
      /^POST \/v1\/acme: body\/a has the type strnig; it is to be one of array, /,
      'POST /v1/acme: body/c/[] names the code acme.none, which no plugin defines; add it to `codes`',
      /^POST \/v1\/acme: body: Invalid regular expression/,
      'GET /v1/acme/:id: a GET has no body; make it part of the query',
      'GET /v1/acme/:id: params lack id, which its url has',
      'GET /v1/acme/:id: params have name, which is not in its url'
    ])
    t.equal(problems.length, 6)
  }
)

t.test('services and exports that cannot be created or are undefined are reported', async t => {
  t.match((await check(t, '', 'exports: { acme: asFunction(({ limits }) => ({ limits })) }')).problems, [
    /^its first start: plugin acme: cannot make acme: .*limits/
  ])
  const members = 'services: { one: asFunction(() => {}) }, exports: { acme: asFunction(() => {}) }'
  t.same((await check(t, '', members)).problems, [
    'services: one is undefined; let its function return a value',
    'exports: acme is undefined; let its function return a value'
  ])
})

t.test(
  'a value of fillWith that cannot be created or has a wrong type is reported with its slot',
  async t => {
    const fill = (slot: string, make: string) =>
      `needs: { rules: '^1.0.0', users: '^1.0.0' }, fills: [s.${slot}.fillWith(${make})]`
    const problemsOf = async (slot: string, make: string) => (await check(t, '', fill(slot, make))).problems

    t.match(await problemsOf('users.rowFieldSlot', '({ limits }) => limits.all()'), [
      /^its first start: plugin acme cannot fill users\.row: .*limits/
    ])
    t.match(await problemsOf('metricsSlot', '() => ({})'), [
      'fills kernel.metrics: the value is object; give function'
    ])
    t.match(await problemsOf('authenticatorSlot', '() => null'), [
      /^fills kernel\.authenticator: the value is null; give function/
    ])
    t.match(await problemsOf('rules.columnSlot', '({ rules }) => ({ key: rules.read(1) })'), [
      /^fills rules\.column: sluice rule list cannot read it: .*rules/
    ])
  }
)

t.test('a message without a size limit is reported, in both halves', async t => {
  const message = `{ name: 'acme.All', proto: new URL('./acme.proto', import.meta.url), body: Type.Object({ text: Type.String(), list: Type.Array(Type.Integer()) }) }`
  const agent = `import { Type } from 'sluice/agent-plugin'
  export default { name: 'acme', agent: '^1.0.0', messages: [{ ...${message}, name: 'acme.Other' }] }`
  const proto =
    'syntax = "proto3"; package acme; message All { string text = 1; repeated int64 list = 2; } message Other { string text = 1; repeated int64 list = 2; }'

  const { problems } = await check(t, '', `messages: [${message}]`, {
    'agent.js': agent,
    'acme.proto': proto
  })

  t.same(
    problems,
    ['All', 'Other'].flatMap(name =>
      [
        '.text has no maxLength',
        '.list has no maxItems',
        '.list[] has no minimum',
        '.list[] has no maximum'
      ].map(lack => `message acme.${name}${lack}: a peer could send any amount`)
    )
  )
})

const table = `class First extends s.Migration { up() { this.addSql('create table acme_n (n int)') } }
const of = { kind: 'acme', id: 'one' }
let isSecond = false`
const store = "store: { entities: [], migrations: [{ name: '0001-first', class: First }] }"
/** Returns a route with this code in its change. */
const changing = (
  url: string,
  body: string
) => `defineRoute({ ...open, url: '/v1/acme/${url}', action: 'acme.${url}',
  schema: () => ({ body: closed({ name: Type.String({ examples: ['x'] }) }), reply: closed({ n: Type.Integer() }) }),
  async run(deps, { body: { name }, change }) { return { n: await change(of, async em => { ${body} }) } } })`

t.test(
  'a change that is not repeatable is reported with file and line, or with its route',
  { skip },
  async t => {
    const insert = "await em.execute('insert into acme_n values (1)')"
    const bodies = {
      good: `${insert}; return 1`,
      throws: "if (isSecond) throw new Error('taken'); isSecond = true; return 1",
      rows: `if (!globalThis.acmeHas) ${insert}; globalThis.acmeHas = true; return 1`,
      result: 'globalThis.acmeCount = (globalThis.acmeCount ?? 0) + 1; return globalThis.acmeCount',
      sends: "await fetch('http://127.0.0.1:40001/').catch(() => {}); return 1"
    }
    t.teardown(() => {
      for (const key of ['acmeHas', 'acmeCount']) Reflect.deleteProperty(globalThis, key)
    })
    const routes = Object.entries(bodies).map(([url, body]) => changing(url, body))

    const { problems } = await check(t, table, `${store}, routes: [${routes.join(', ')}]`)

    const at = 'plugin\\.js:\\d+: this change is not repeatable, and a store may run its body again: '
    const seen = [
      'the second time it throws "taken"',
      'rows written: 2 the first time, 1 the second', // one is the entry in the audit log
      'the second time it returns another result',
      'it opens a connection, or sends a request'
    ]
    t.match(problems[0], /^POST \/v1\/acme\/throws: it fails: Error: taken +at .*plugin\.js/)
    for (const [i, what] of seen.entries())
      t.match(
        problems[i + 1],
        new RegExp(`${at}${what}\\. Keep to .em. in the body; do all else after .change. has returned$`)
      )
    t.equal(problems.length, 5)
  }
)

t.test('a change that a timer or a start makes with act also runs twice', { skip }, async t => {
  const start = `async start({ deps: { act } }) {
    await act('_acme', 'acme.tick', ({ change }) => change(of, async em => {
      if (!isSecond) await em.execute('insert into acme_n values (1)')
      isSecond = true
    }))
  }`

  const { problems } = await check(t, table, `needs: { http: '^1.0.0' }, ${store}, ${start}`)

  t.match(problems, [/plugin\.js:\d+: .*rows written: 2 the first time, 1 the second/])
})

t.test('routes are called with the examples of their schemas; routes without examples are noted', async t => {
  const route = (method: string, url: string, schema: string, run: string) =>
    `defineRoute({ ...open, method: '${method}', url: '/v1/acme${url}', action: 'acme.${method}${url.length}', schema: () => (${schema}), run: ${run} })`
  const reply = 'reply: closed({ acme_id: Type.String() })'
  const params = 'params: closed({ acme_id: Type.String() })'
  const { problems, notes } = await check(
    t,
    "const gone = s.defineCode('acme_gone', 404, 5)",
    `codes: [gone], routes: [
      ${route('DELETE', '/:acme_id', `{ ${params}, ${reply} }`, "async (_, { params }) => { if (params.acme_id !== 'seven') throw new Error(params.acme_id); return params }")},
      ${route('POST', '', `{ body: closed({ on: Type.Boolean({ default: true }), kind: Type.Union([Type.Literal('a')]) }), ${reply} }`, "async (_, { body }) => ({ acme_id: body.on && body.kind === 'a' ? 'seven' : 'none' })")},
      ${route('PUT', '', `{ body: closed({ name: Type.String() }), ${reply} }`, 'async () => ({})')},
      ${route('PATCH', '', `{ ${reply} }`, "async () => { throw new s.Fault(gone, 'it is gone') }")},
      ${route('GET', '', `{ query: closed({ top: Type.Integer({ maximum: 9, examples: [10] }) }), ${reply} }`, 'async () => ({})')},
      ${route('GET', '/broken', `{ ${reply} }`, 'async ({ limits }) => limits')}
    ]`
  )

  t.match(problems, [
    /^GET \/v1\/acme: its examples do not fit: query\/top must be <= 9$/,
    /^GET \/v1\/acme\/broken: it fails: .*limits/
  ])
  t.match(notes, [
    'PUT /v1/acme was not called: body/name has no examples',
    /^PATCH \/v1\/acme refuses its examples: 404 .*acme_gone/,
    'the code acme_gone has no explanation; fill errorExplanationSlot with its cause and remedy'
  ])
  t.equal(problems.length + notes.length, 5)
})

t.test('a rule is created with the example of each field, and its hooks run twice', { skip }, async t => {
  const fieldWith = async (name: string, half: string, from: string, to: string): Promise<Conformance> => {
    const dir = join(t.testdir(), name)
    scaffold(name, dir)
    const file = join(dir, half)
    const text = readFileSync(file, 'utf8')
    if (!text.includes(from)) throw new TypeError(`${half} has no ${from}`)
    writeFileSync(file, text.replace(from, to))
    return conform(dir)
  }
  const again = "if (globalThis.acmeSecs === secs) throw new Error('again'); globalThis.acmeSecs = secs;"
  t.teardown(() => Reflect.deleteProperty(globalThis, 'acmeSecs'))

  const throwing = await fieldWith(
    'acme-throws',
    'rule-field.ts',
    "change: 'frozen',",
    `change: 'frozen', async check(secs: number) { ${again} },`
  )
  t.match(throwing.problems, [
    /^field acme_throws_idle_secs: a rule with its example is refused: Error: again +at .*rule-field\.ts/,
    /^acme-throws, in rules\.field: this change is not repeatable.* the second time it throws "again"/
  ])
  const wrong = await fieldWith(
    'acme-wrong',
    'rule-field.ts',
    "if (protocol === 'tcp') return secs",
    "if (protocol === 'tcp') return -secs"
  )
  t.match(wrong.problems, [/^field acme_wrong_idle_secs: .*cannot be encoded/])
  const bare = await fieldWith('acme-bare', 'field.ts', /^ *examples: .*$/m.exec(template)?.[0] ?? '', '')
  t.same(bare, {
    name: 'acme-bare',
    version: '1.0.0',
    problems: [],
    notes: ['field acme_bare_idle_secs was not tried: its schema has no examples']
  })
})

t.test('with a configuration, a plugin is checked together with the plugins in it', async t => {
  const base = acme('', "exports: { acmeWord: asFunction(() => 'go') }").replace("'acme'", "'acme-base'")
  const dir = t.testdir({
    base: { 'plugin.js': base },
    acme: {
      'README.md': '# acme',
      'plugin.js': acme(
        '',
        "needs: { 'acme-base': '^1.0.0' }, services: { own: asFunction(({ acmeWord }) => acmeWord) }"
      )
    },
    'sluice.toml': '[plugins."./base"]\n[plugins."./acme"]\n'
  })
  const problemsWith = async (file?: string) =>
    (await conform(join(dir, 'acme'), await settingsFor(join(dir, 'acme'), builtinPlugins, file))).problems
  const file = join(dir, 'sluice.toml')

  t.same(await problemsWith(), ['acme needs acme-base ^1.0.0, which is not loaded'])
  t.same(await problemsWith(file), [])
  writeFileSync(file, '[plugins."./base"]\nenabled = false\n')
  t.same(await problemsWith(file), ['acme needs acme-base ^1.0.0, which is not loaded'])
})
