import { writeFileSync } from 'node:fs'
import t from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import { insertClient } from '../../../kit/test-server.ts'
import { isOnPostgres } from '../../../kit/test-store.ts'
import { color, colors } from '../../rules/test/colors.ts'
import { type Document, formatDocument, readDocument } from '../document.ts'
import { listKinds, openDocumentContext } from '../document-context.ts'
import { makePlan, type Step } from '../plan.ts'
import { apiOf, applyFixture, exportOf, filled } from './apply-fixture.ts'

const target = (port: number) => [{ host: '10.0.0.1', port }]
const web = { client: 'paris', listen_port: 8080, targets: target(80) }
const kindNames = ['users', 'grants', 'quotas', 'owner_limits', 'rules', 'link_endpoints', 'links']
const summaryOf = (plan: readonly Step[]) => plan.map(({ verb, label }) => `${verb} ${label}`)

t.test('a plan lists the differences, and is empty after it was applied', async t => {
  const { plan, run } = await applyFixture(t)
  const file = { rules: [web, { ...web, listen_port: 8081, targets: target(81) }] }

  t.same(summaryOf(await plan(file)), ['create rule paris tcp 8080', 'create rule paris tcp 8081'])
  await run(file)
  t.same(await plan(file), [])

  const changed = {
    rules: [
      { ...web, rate_limit: { concurrent_connections: 5 } },
      { ...web, listen_port: 8081 }
    ]
  }
  t.same(summaryOf(await plan(changed)), ['change rule paris tcp 8080', 'change rule paris tcp 8081'])
  t.same(
    (await plan(changed)).map(({ changes }) => changes),
    [
      ['rate_limit.concurrent_connections - -> 5'],
      ['targets [{"host":"10.0.0.1","port":81,"priority":0}] -> [{"host":"10.0.0.1","port":80,"priority":0}]']
    ]
  )
  await run(changed)
  t.same(await plan(changed), [])
})

t.test('properties that plugins add to targets are compared in one spelling, and exported', async t => {
  const { id, since } = color.capability
  const { app, context, plan, run } = await applyFixture(t, [colors], {
    [id]: since,
    'rule.multi-target': '2.0.0',
    'rule.update': '2.1.0'
  })
  const colored = (...colors: (string | undefined)[]) => ({
    rules: [{ ...web, targets: colors.map((color, i) => ({ ...target(80 + i)[0], color })) }]
  })

  await run(colored('Red', undefined))
  t.same(await plan(colored('red', 'plain')), [])
  const [rule] = (await exportOf(context))['rules'] ?? []
  t.match(rule, { targets: [{ host: '10.0.0.1', port: 80, priority: 0, color: 'red' }, { port: 81 }] })
  t.same(await plan({ rules: [rule ?? {}] }), [])
  t.same(summaryOf(await plan(colored('red', 'blue'))), ['change rule paris tcp 8080'])
  await run(colored('red', 'blue'))
  t.match((await app.call('GET', '/v1/rules')).body, [{ targets: [{ color: 'red' }, { color: 'blue' }] }])
})

t.test('exit grants name their clients, and are replaced when their entries change', async t => {
  const { plan, run, context } = await applyFixture(t)
  const exit = { user_id: 'ann', client: 'paris', use: 'exit', protocols: ['tcp'], entries: ['paris'] }
  const listen = { ...exit, use: 'listen', entries: null, listen_port_start: 1, listen_port_end: 9 }
  await run({ users: [{ user_id: 'ann' }], grants: [exit, listen] })

  t.same(await plan({ grants: [listen, exit] }, 'prune'), [])
  const exported = (await exportOf(context))['grants'] ?? []
  const { use: _, entries: __, ...shown } = listen
  const absent = { targets: null, note: null }
  t.same(exported, [
    { ...exit, ...absent },
    { ...shown, ...absent }
  ])
  t.same(await plan({ grants: exported }, 'prune'), [])
  const wider = { grants: [listen, { ...exit, entries: null }] }
  t.same(summaryOf(await plan(wider, 'prune')), ['replace grant ann paris exit tcp'])
  await run(wider)
  t.same(await plan(wider, 'prune'), [])
})

t.test('objects that are not in the file stay; --prune deletes them, if the file has their kind', async t => {
  const { plan, run, app } = await applyFixture(t)
  await app.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const grant = {
    user_id: 'ann',
    client: 'paris',
    listen_port_start: 1,
    listen_port_end: 99,
    protocols: ['tcp'],
    targets: null
  }
  await run({ rules: [web], grants: [grant] })

  t.same(await plan({ rules: [] }), [])
  t.same(summaryOf(await plan({ rules: [] }, 'prune')), ['delete rule paris tcp 8080'])
  t.same(summaryOf(await plan({ grants: [] }, 'prune')), ['delete grant ann paris 1-99 tcp'])
  const narrower = { grants: [{ ...grant, targets: ['10.0.0.0/8'] }] }
  t.same(summaryOf(await plan(narrower)), ['replace grant ann paris 1-99 tcp'])
  await run(narrower)
  t.same(await plan(narrower), [])
})

t.test('grants that differ only in targets or note are matched by them', async t => {
  const { plan, run } = await applyFixture(t)
  const grant = {
    user_id: 'ann',
    client: 'paris',
    listen_port_start: 1,
    listen_port_end: 99,
    protocols: ['tcp']
  }
  const noted = { ...grant, note: 'until May' }
  const grants = [grant, noted, { ...grant, targets: ['10.0.0.0/8'] }]
  await run({ users: [{ user_id: 'ann' }], grants })
  t.same(await plan({ grants: grants.toReversed() }, 'prune'), [])
  t.same(summaryOf(await plan({ grants: [noted] }, 'prune')), [
    'delete grant ann paris 1-99 tcp',
    'delete grant ann paris 1-99 tcp'
  ])
  const replaced = { grants: [grant, noted, { ...grant, targets: ['10.1.0.0/16'] }] }
  t.match(await plan(replaced, 'prune'), [
    { verb: 'replace', changes: ['targets ["10.0.0.0/8"] -> ["10.1.0.0/16"]'] }
  ])
  await run(replaced)
  t.same(await plan(replaced, 'prune'), [])
})

t.test('a file in other spellings than the stored ones finds nothing to do after it was applied', async t => {
  const { plan, run } = await applyFixture(t)
  const file = {
    users: [{ user_id: 'ann', display_name: ' Ann ' }],
    grants: [
      {
        user_id: 'ann',
        client: '*',
        listen_port_start: 1,
        listen_port_end: 9,
        protocols: ['UDP', 'tcp', 'udp'],
        targets: ['[2001:DB8:0::1]:50-50', 'DB.Example.']
      }
    ],
    rules: [
      {
        ...web,
        listen_port_end: 8080,
        protocol: 'TCP',
        allow_sources: ['10.0.0.1/8', '10.9.9.9/8', '2001:DB8::/32', '::ffff:192.168.1.1/120'],
        targets: ['[0:0::1]', '::ffff:127.0.0.1', 'DB.Example'].map(host => ({ host, port: 1, weight: 1 }))
      },
      {
        ...web,
        listen_port: 8443,
        sni_pattern: '*.Example.ORG',
        expires_at: '2099-01-01T02:00:00.1234567+02:00',
        schedule: {
          time_zone: 'europe/paris',
          windows: [{ days: ['sun', 'mon', 'mon'], from: '00:00', to: '24:00' }]
        }
      }
    ]
  }
  await run(file)
  t.same(await plan(file, 'prune'), [])
})

t.test('a quota is created, and another limit changes the existing quota', async t => {
  const { plan, run, app, clientId } = await applyFixture(t)
  await app.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const quota = { user_id: 'ann', client: 'paris', monthly_bytes: 1000 }
  await run({ quotas: [quota] })
  t.match(await app.call('GET', '/v1/users/ann/quotas'), {
    body: [{ client_id: clientId, monthly_bytes: 1000 }]
  })
  t.same(await plan({ quotas: [quota] }), [])
  t.match(await plan({ quotas: [{ ...quota, monthly_bytes: 2000 }] }), [
    { verb: 'change', label: 'quota ann paris', changes: ['monthly_bytes 1000 -> 2000'] }
  ])
})

t.test('users are created before their limits and rules, and deleted after them', async t => {
  const { plan, run, app, clientId } = await applyFixture(t)
  const file = {
    rules: [{ ...web, owner: 'ann', placed_by: '_operator' }],
    owner_limits: [{ client: 'paris', owner: 'ann', rate_limit: { concurrent_connections: 5 } }],
    users: [
      { user_id: 'ann', display_name: 'Ann' },
      { user_id: 'bob', role: 'superadmin', disabled: true }
    ]
  }
  t.same(summaryOf(await plan(file)), [
    'create user ann',
    'create user bob',
    'create owner limit paris ann',
    'create rule paris tcp 8080'
  ])
  await run(file)
  t.same(await plan(file), [])
  t.match(await app.call('GET', '/v1/users/bob'), {
    body: { display_name: 'bob', role: 'superadmin', disabled: true }
  })
  t.match(await app.call('GET', `/v1/clients/${clientId}/owners/ann/rate-limit`), {
    body: { rate_limit: { concurrent_connections: 5 } }
  })

  const changed = {
    users: [{ user_id: 'ann', display_name: 'Ann B' }, { user_id: 'bob' }],
    owner_limits: [{ client: clientId, owner: 'ann', rate_limit: { concurrent_connections: 6 } }]
  }
  t.same(
    (await plan(changed)).map(({ label, changes }) => [label, changes]),
    [
      ['user ann', ['display_name Ann -> Ann B']],
      ['user bob', ['role superadmin -> user', 'disabled true -> false']],
      ['owner limit paris ann', ['rate_limit.concurrent_connections 5 -> 6']]
    ]
  )
  await run(changed)
  t.same(await plan(changed), [])
  t.same(summaryOf(await plan({ users: [], owner_limits: [], rules: [] }, 'prune')), [
    'delete rule paris tcp 8080',
    'delete owner limit paris ann',
    'delete user bob',
    'delete user ann'
  ])
})

t.test('apply keeps a rule that it cannot change, and placed_by of the rule', async t => {
  const { plan, run, app } = await applyFixture(t)
  await app.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const grant = {
    user_id: 'ann',
    client: 'paris',
    listen_port_start: 1,
    listen_port_end: 9999,
    protocols: ['tcp']
  }
  await run({ grants: [{ ...grant, targets: ['10.0.0.1'] }], rules: [{ ...web, owner: 'ann' }] })
  const rules = async () => (await app.call<{ rule_id: string }[]>('GET', '/v1/rules')).body
  const before = await rules()

  const forbidden = { ...web, owner: 'ann', targets: [{ host: '10.0.0.2', port: 80 }] }
  await t.rejects(run({ rules: [forbidden] }), { message: /no grant allows the target 10.0.0.2/ })
  t.same(await rules(), before)

  await run({ rules: [{ ...forbidden, placed_by: '_operator' }] })
  t.match(await rules(), [
    { ...before[0], placed_by: '_operator', updated_at: String, etag: String, targets: forbidden.targets }
  ])
  t.same(await plan({ rules: [{ ...forbidden, placed_by: '_operator' }] }), [])
  t.match(await plan({ rules: [forbidden] }), [{ changes: ['placed_by _operator -> ann'] }])
})

t.test('a plan that would change the owner of a rule or the anchor of a quota is refused', async t => {
  const { plan, run, app } = await applyFixture(t)
  await app.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const quota = { user_id: 'ann', client: 'paris', monthly_bytes: 1000 }
  await run({ rules: [web], quotas: [quota] })

  await t.rejects(plan({ rules: [{ ...web, owner: 'ann', placed_by: '_operator' }] }), {
    message: /has owner _operator, not ann, which cannot change; remove it/
  })
  const anchor = Date.UTC(2025, 0, 1) / 1000
  await t.rejects(plan({ quotas: [{ ...quota, billing_anchor: anchor }] }), {
    message: /billing_anchor of quota ann paris cannot change/
  })
})

t.test('a rule with a changed port is moved: by its id, or with --prune if the match is unique', async t => {
  const { plan, run, app } = await applyFixture(t)
  await run({ rules: [web, { ...web, listen_port: 8081, targets: target(81), paused: true }] })
  const rules = async () =>
    (await app.call<{ rule_id: string; listen_port: number; state: string }[]>('GET', '/v1/rules')).body
  const [first, second] = await rules()

  const byId = { rules: [{ ...web, rule_id: first?.rule_id, listen_port: 9000 }] }
  t.match(await plan(byId), [
    { verb: 'change', label: 'rule paris tcp 9000', changes: ['listen_port 8080 -> 9000'], drops: 0 }
  ])
  await run(byId)
  t.match(await rules(), [{ rule_id: first?.rule_id, listen_port: 9000 }, second])
  t.same(await plan(byId), [])
  await t.rejects(plan({ rules: [{ ...web, rule_id: 'none' }] }), { message: /^rules: there is no none/ })

  const moved = {
    rules: [
      { ...web, listen_port: 9000 },
      { ...web, listen_port: 9001, targets: target(81) }
    ]
  }
  t.same(summaryOf(await plan(moved)), ['create rule paris tcp 9001'], 'without --prune the old rule stays')
  t.match(await plan(moved, 'prune'), [
    { verb: 'change', changes: ['paused true -> false', 'listen_port 8081 -> 9001'] }
  ])
  await run(moved, 'prune')
  t.match(await rules(), [
    { rule_id: first?.rule_id },
    { rule_id: second?.rule_id, listen_port: 9001, state: 'active' }
  ])

  const unclear = { rules: [9002, 9003].map(listen_port => ({ ...web, listen_port })) }
  t.same(summaryOf(await plan(unclear, 'prune')), [
    'create rule paris tcp 9002',
    'create rule paris tcp 9003',
    'delete rule paris tcp 9001',
    'delete rule paris tcp 9000'
  ])
})

t.test('a rule with a name is identified by it: another port in the file moves the rule', async t => {
  const { plan, run, app, context } = await applyFixture(t)
  const named = { ...web, name: 'web', description: 'the shop' }
  await run({ rules: [named] })
  const rules = async () => (await app.call<{ rule_id: string }[]>('GET', '/v1/rules')).body
  const [first] = await rules()
  t.same(await plan({ rules: [named] }, 'prune'), [])
  t.match(await exportOf(context), { rules: [{ name: 'web', description: 'the shop', listen_port: 8080 }] })

  const moved = { rules: [{ ...named, listen_port: 9000, targets: target(81) }] }
  t.match(await plan(moved), [
    { verb: 'change', label: 'rule paris tcp 9000 (web)', changes: ['listen_port 8080 -> 9000', /^targets/] }
  ])
  await run(moved)
  t.match(await rules(), [{ rule_id: first?.rule_id, listen_port: 9000 }])
  t.same(await plan(moved, 'prune'), [])

  const swapped = {
    rules: [
      { ...named, listen_port: 9001 },
      { ...web, listen_port: 9000, name: 'api' }
    ]
  }
  t.same(summaryOf(await plan(swapped, 'prune')), [
    'change rule paris tcp 9001 (web)',
    'create rule paris tcp 9000 (api)'
  ])
  await run(swapped, 'prune')
  t.match(await rules(), [{ rule_id: first?.rule_id, listen_port: 9001 }, { name: 'api' }])
  t.same(await plan(swapped, 'prune'), [])
})

t.test('a name is set, changed and removed on the rule of the port', async t => {
  const { plan, run, app } = await applyFixture(t)
  await run({ rules: [web] })
  const { rule_id } = (await app.call<{ rule_id: string }[]>('GET', '/v1/rules')).body[0] ?? {}

  for (const [name, change] of [
    ['web', 'name - -> web'],
    ['shop', 'name web -> shop'],
    [undefined, 'name shop -> -']
  ] as const) {
    const file = { rules: [{ ...web, ...(name && { name }) }] }
    t.match(await plan(file, 'prune'), [{ verb: 'change', changes: [change] }])
    await run(file, 'prune')
    t.same(await plan(file, 'prune'), [])
  }
  t.match((await app.call('GET', '/v1/rules')).body, [{ rule_id, name: null }])
})

t.test('a file with one name for two rules of a client is refused, and changes nothing', async t => {
  const { plan } = await applyFixture(t)
  const file = {
    rules: [
      { ...web, name: 'web' },
      { ...web, listen_port: 81, name: 'web' }
    ]
  }

  await t.rejects(plan(file), { message: /another object with the name of rule paris tcp 81 \(web\)/ })
  await t.rejects(plan({ rules: [{ ...web, name: 'Web' }] }), {
    message: /rules\[0\]: \/name must be 1 to 63/
  })
})

t.test('the next run completes an interrupted one', async t => {
  const { plan, run } = await applyFixture(t)
  const file = { rules: [8080, 8081, 8082].map(listen_port => ({ ...web, listen_port })) }
  for (const step of (await plan(file)).slice(0, 2)) await step.run()
  t.equal((await plan(file)).length, 1)
  await run(file)
  t.same(await plan(file), [])
})

t.test('an export that is applied again changes nothing, as TOML and as JSON', async t => {
  const { plan, run, context } = await applyFixture(t)
  await run({ rules: [web, { ...web, listen_port: 8443, sni_pattern: '*.example.org' }] })
  const document = await exportOf(context)
  t.match(document['rules'], [{ client: 'paris', listen_port: 8080 }, { sni_pattern: '*.example.org' }])
  for (const format of ['toml', 'json'] as const) {
    const dir = t.testdir({ file: formatDocument(document, format) })
    t.same(summaryOf(await plan((await readDocument(`${dir}/file`, kindNames)).entries, 'prune')), [], format)
  }
})

t.test('a grant on a client with the old name * is not exported as a grant on all clients', async t => {
  const { app, clientId } = await applyFixture(t)
  const { store } = app.server.depsOf('clients')
  await store.change(em => em.nativeUpdate(Client, { id: clientId }, { name: '*' }))
  await app.call('POST', '/v1/users', { user_id: 'ann', display_name: 'Ann' })
  const ports = { listen_port_start: 1, listen_port_end: 99, protocols: ['tcp'] }
  await app.call('POST', '/v1/grants', { user_id: 'ann', client_id: clientId, ...ports })

  const context = await openDocumentContext({ api: apiOf(app), filled })
  const document = await exportOf(context)

  t.match(document['grants'], [{ client: clientId }])
  t.same((await makePlan(document, 'keep', context)).steps, [])
})

t.test('grants of a source are not exported, compared or deleted', async t => {
  const { app, context, plan, run } = await applyFixture(t)
  const grant = {
    user_id: 'ann',
    client: 'paris',
    listen_port_start: 1,
    listen_port_end: 9,
    protocols: ['tcp']
  }
  await run({ users: [{ user_id: 'ann' }] })
  await app.call('POST', '/v1/grants', grant)
  const { store } = app.server.depsOf('grants')
  await store.change(em => em.execute(`update grants set source = 'oidc:corp'`))

  t.same((await exportOf(context))['grants'], [])
  t.same(await plan({ grants: [] }, 'prune'), [])
  await run({ grants: [grant] })
  t.match((await app.call<object[]>('GET', '/v1/grants')).body, [{ source: 'oidc:corp' }, { source: null }])
  t.same(await plan({ grants: [grant] }, 'prune'), [])
})

t.test('an invalid file is rejected with the reason', async t => {
  const { plan } = await applyFixture(t)
  const cases: readonly [Document, RegExp][] = [
    [{ rules: [{ ...web, client: 'rome' }] }, /no client rome/],
    [{ rules: [web, { listen_port: 1 }] }, /^rules\[1\]: \/targets is required$/],
    [{ rules: [{ listen_port: 1, targets: target(1) }] }, /^rules\[0\]: \/client or \/clients is required$/],
    [
      { rules: [{ ...web, rate_limits: {} }] },
      /^rules\[0\]: \/rate_limits is unknown here; did you mean rate_limit\?$/
    ],
    [{ rules: [{ ...web, listen_port: 99999 }] }, /^rules\[0\]: \/listen_port must be <= 65535$/],
    [
      { rules: [{ ...web, targets: [{ host: 'db', prt: 1 }] }] },
      /^rules\[0\]: \/targets\/0\/prt is unknown here/
    ],
    [
      { users: [{ user_id: 'ann', role: 'root' }] },
      /^users\[0\]: \/role must be one of superadmin, operator, viewer, user$/
    ],
    [{ owner_limits: [{ client: 'paris', owner: 'ann' }] }, /^owner_limits\[0\]: \/rate_limit is required$/],
    [
      { grants: [{ user_id: 'ann', listen_port_start: 1, listen_port_end: 2, protocols: ['tcp'] }] },
      /^grants\[0\]: give either \/client_id or \/client$/
    ],
    [{ rules: [web, web] }, /twice/],
    [{ quotas: [{ user_id: 'ann', client: 'paris' }] }, /^quotas\[0\]: \/monthly_bytes is required$/]
  ]
  for (const [file, message] of cases) await t.rejects(plan(file), { message })
  const dir = t.testdir({ 'a.toml': '[[rulez]]\n', 'b.toml': 'rules = 1\n', 'c.toml': '[[' })
  await t.rejects(readDocument(`${dir}/a.toml`, kindNames), {
    message: /rulez must be one of users, grants, quotas, owner_limits, rules/
  })
  await t.rejects(readDocument(`${dir}/b.toml`, kindNames), { message: /write \[\[rules\]\]/ })
  await t.rejects(readDocument(`${dir}/c.toml`, kindNames), { message: /c.toml cannot be read/ })
  writeFileSync(`${dir}/d.toml`, Buffer.from('[[users]]\ndisplay_name = "caf\xe9"', 'latin1'))
  await t.rejects(readDocument(`${dir}/d.toml`, kindNames), {
    message: /d.toml cannot be read: it is not UTF-8; save it/
  })
})

t.test('a key that JSON has twice is an error, and not a value that gets lost', async t => {
  const dir = t.testdir({
    'a.json': '{"rules": [{"client": "paris"}], "users": [], "ru\\u006ces": []}',
    'b.json': '{"rules": [{"note": "a: {\\"note", "targets": [{"host": "a"}, {"host": "b"}], "note": "b"}]}',
    'c.json': '{"rules": [{"note": "{\\"note\\": 1, \\"note\\": 2}"}, {"note": "b"}]}'
  })
  await t.rejects(readDocument(`${dir}/a.json`, kindNames), { message: /the key "ru\\u006ces" is repeated/ })
  await t.rejects(readDocument(`${dir}/b.json`, kindNames), { message: /the key "note" is repeated/ })
  t.match((await readDocument(`${dir}/c.json`, kindNames)).entries, { rules: [{}, { note: 'b' }] })
})

t.test('a long file is validated in parts, and an error names the place in the whole file', async t => {
  const { plan, app } = await applyFixture(t)
  const note = 'x'.repeat(60)
  const labels = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`k${at}`, note]))
  const rules: object[] = Array.from({ length: 400 }, () => ({ ...web, labels }))
  rules[399] = { ...web, bandwith: 1 }

  await t.rejects(plan({ rules } as unknown as Document), {
    message: /^rules\[399\]: \/bandwith is unknown here/
  })
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('an impossible user_id is refused before anything is changed', async t => {
  const { plan, app } = await applyFixture(t)
  for (const user_id of ['Carol', 'me', '_x', '..', '01K9ZJ4M5N6P7Q8R9S0TABCDEF'])
    await t.rejects(plan({ users: [{ user_id: 'bob' }, { user_id }], rules: [web] }), {
      message: /^users\[1\]: user_id/
    })
  t.equal((await app.call('GET', '/v1/users/bob')).status, 404)
})

t.test('a JSON file may begin with a byte order mark, as a TOML file may', async t => {
  const { plan } = await applyFixture(t)
  const bom = '\ufeff'
  const dir = t.testdir({
    'a.json': `${bom}{"users": [{"user_id": "bob"}]}`,
    'a.toml': `${bom}[[users]]\nuser_id = "bob"\n`
  })

  for (const file of ['a.json', 'a.toml'])
    t.same(summaryOf(await plan((await readDocument(`${dir}/${file}`, kindNames)).entries)), [
      'create user bob'
    ])
})

t.test('times in TOML become text, as in the API', async t => {
  const { plan } = await applyFixture(t)
  const toml =
    'expires_at = 2099-01-01T00:00:00Z\nclient = "paris"\nlisten_port = 1\ntargets = [{ host = "a", port = 1 }]'
  const dir = t.testdir({ 'a.toml': `[[rules]]\n${toml}\n`, 'b.toml': `[[rules]]\nlisten_port = nan\n` })

  t.same(summaryOf(await plan((await readDocument(`${dir}/a.toml`, kindNames)).entries)), [
    'create rule paris tcp 1'
  ])
  await t.rejects(plan((await readDocument(`${dir}/b.toml`, kindNames)).entries), {
    message: /^rules\[0\]: /
  })
})

t.test(
  'a second run is refused until the lease of the first one is released or expires after a minute',
  async t => {
    const { app } = await applyFixture(t)
    const begin = () => app.call<{ lease_id: string }>('POST', '/v1/apply-leases')
    const pass = async (ms: number): Promise<void> => {
      await app.clock.advance(ms)
      if (!isOnPostgres) return // its clock decides about leases
      const { store } = app.server.depsOf('apply')
      await store.change(em => em.execute('update apply_lease set until = until - ?', [ms], 'run'))
    }
    const first = await begin()
    t.equal(first.status, 201)
    t.match(await begin(), { status: 409, body: { error: { code: 'apply_in_progress' } } })
    const path = `/v1/apply-leases/${first.body.lease_id}`
    await pass(50_000)
    t.equal((await app.call('PUT', path)).status, 200)
    await pass(50_000)
    t.equal((await begin()).status, 409, 'the lease was renewed')
    t.equal((await app.call('DELETE', path)).status, 204)
    const second = await begin()
    t.equal(second.status, 201)
    await pass(60_000)
    t.equal((await app.call('PUT', `/v1/apply-leases/${second.body.lease_id}`)).status, 404)
    t.equal((await begin()).status, 201, 'an expired lease blocks no run')
  }
)

t.test('a lease stays active after a restart and on another server of the store', async t => {
  const { app } = await applyFixture(t)
  const begin = () => app.call<{ lease_id: string }>('POST', '/v1/apply-leases')
  const { lease_id } = (await begin()).body

  await app.restart()

  t.match(await begin(), { status: 409, body: { error: { code: 'apply_in_progress' } } })
  t.equal((await app.call('PUT', `/v1/apply-leases/${lease_id}`)).status, 200)
})

t.test(
  'a user without the role superadmin applies a file in other spellings, and then it matches',
  async t => {
    const { app, run, clientId } = await applyFixture(t)
    const ports = { listen_port_start: 8000, listen_port_end: 8999, protocols: ['tcp'] }
    await run({
      users: [{ user_id: 'ann' }, { user_id: 'root', role: 'superadmin' }],
      grants: [{ user_id: 'ann', client: 'paris', ...ports }]
    })
    const credential = await app.call<{ token: string }>('POST', '/v1/users/ann/credentials', {
      label: 'apply'
    })
    const headers = { authorization: `Bearer ${credential.body.token}` }
    const call: typeof app.call = (method, url, body) => app.call(method, url, body, headers)
    const context = await openDocumentContext({ api: apiOf({ call }), filled })
    const file = {
      rules: [
        { ...web, allow_sources: ['10.0.0.1/8'], targets: [{ host: '[0:0::1]', port: 1 }] },
        {
          listen_port: 8081,
          clients: { ids: [clientId, 'paris'] },
          targets: [{ host: 'DB.Example', port: 1 }]
        }
      ]
    }

    for (const { run } of (await makePlan(file, 'keep', context)).steps) await run()

    t.same((await makePlan(file, 'keep', context)).steps, [])
    t.same((await makePlan(await exportOf(context), 'prune', context)).steps, [])
  }
)

t.test('a viewer exports everything, and an operator applies rules and quotas but no users', async t => {
  const { app, run, context } = await applyFixture(t)
  const grant = { user_id: 'ann', client: 'paris', listen_port_start: 1, listen_port_end: 65_535 }
  const grants = [{ ...grant, protocols: ['tcp'] }]
  await run({ users: [{ user_id: 'ann' }], grants, rules: [{ ...web, owner: 'ann' }] })
  const contextOf = async (role: 'viewer' | 'operator') => {
    const call = app.as({ user: `an-${role}`, role, by: 'api_token' })
    await call('GET', '/v1/users/me') // creates the user
    return openDocumentContext({ api: apiOf({ call }), filled })
  }
  const viewer = await contextOf('viewer')
  const operator = await contextOf('operator')
  const document = await exportOf(await openDocumentContext(context))

  t.same(await exportOf(viewer), document)
  const changed = { ...document, quotas: [{ user_id: 'ann', client: 'paris', monthly_bytes: 1000 }] }
  for (const { run } of (await makePlan(changed, 'keep', operator)).steps) await run()
  t.same((await makePlan(changed, 'prune', operator)).steps, [])
  const [more] = (await makePlan({ users: [{ user_id: 'eve' }] }, 'keep', operator)).steps
  await t.rejects(async () => more?.run(), { message: /only superadmins may do this/ })
})

t.test('the export of a group rule can be applied after one of its clients was deleted', async t => {
  const { app, plan, run, context, clientId } = await applyFixture(t)
  const rome = await insertClient(app, 'rome')
  await run({
    rules: [{ clients: { ids: [clientId, rome] }, if_offline: 'queue', listen_port: 1, targets: target(1) }]
  })
  await app.call('POST', `/v1/clients/${rome}/revoke`)
  t.match(await app.call('DELETE', `/v1/clients/${rome}`), { status: 204 })

  const document = await exportOf(await openDocumentContext(context))
  t.match(document['rules'], [{ clients: { ids: ['paris', rome] } }])
  t.same(await plan(document, 'prune'), [])
})

t.test('a group rule is exported with client names, and changed in place for other clients', async t => {
  const { plan, run, context } = await applyFixture(t)
  const group = { clients: { ids: ['paris'] }, listen_port: 8080, targets: target(80) }

  t.same(summaryOf(await plan({ rules: [group] })), ['create rule paris tcp 8080'])
  await run({ rules: [group] })
  t.same(await plan({ rules: [group] }, 'prune'), [])
  const rules = listKinds(context).find(({ name }) => name === 'rules')
  t.match(
    (await rules?.list(context))?.map(item => rules?.format(item, context)),
    [{ clients: { ids: ['paris'] }, listen_port: 8080 }]
  )

  const selected = { rules: [{ ...group, clients: { selector: 'env=prod' } }] }
  t.same(summaryOf(await plan(selected, 'prune')), ['change rule env=prod tcp 8080'])
  await run(selected, 'prune')
  t.same(await plan(selected, 'prune'), [])

  await run({ rules: [{ ...group, ...selected.rules[0], name: 'web' }] })
  const both = { rules: [{ ...group, name: 'web' }] }
  t.same(
    summaryOf(await plan(both)),
    ['change rule paris tcp 8080 (web)'],
    'its name identifies it, not its clients'
  )
})

t.test('the kind of a user is written once: a document cannot change it', async t => {
  const { app, context, plan, run } = await applyFixture(t)
  const document = { users: [{ user_id: 'ci', display_name: 'CI', kind: 'service' }, { user_id: 'ann' }] }

  await run(document)

  t.match(await app.call('GET', '/v1/users/ci'), { body: { kind: 'service' } })
  t.same((await exportOf(context))['users'], [
    { user_id: 'ann', display_name: 'ann' },
    { user_id: 'ci', display_name: 'CI', kind: 'service' }
  ])
  t.same(await plan(document), [])
  for (const kind of ['user', undefined])
    await t.rejects(plan({ users: [{ user_id: 'ci', display_name: 'CI', ...(kind && { kind }) }] }), {
      message: /^users: ci has kind "service", which cannot change to "user"/
    })
})
