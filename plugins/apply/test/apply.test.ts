import t, { type Test } from 'tap'
import { plugins as builtin } from '../../../config/plugins.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import { inDependencyOrder } from '../../../kernel/dependency-order.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import { type KitServer, testAgent, testServer } from '../../../kit/public.ts'
import { isOnPostgres } from '../../../kit/test-store.ts'
import { filledBare } from '../../cli/program/installed-commands.ts'
import { capability as rateLimit } from '../../rate-limit/wire.ts'
import { type Document, formatDocument, readDocument } from '../document.ts'
import { listKinds, openDocumentContext } from '../document-context.ts'
import { makePlan, type Step } from '../plan.ts'

const target = (port: number) => [{ host: '10.0.0.1', port }]
const web = { client: 'paris', listen_port: 8080, targets: target(80) }
const kindNames = ['users', 'grants', 'quotas', 'owner_limits', 'rules']
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
  const document = Object.fromEntries(
    await Promise.all(
      listKinds(context).map(async kind => [
        kind.name,
        (await kind.list(context)).map(item => kind.format(item, context))
      ])
    )
  ) as Document
  t.match(document['rules'], [{ client: 'paris', listen_port: 8080 }, { sni_pattern: '*.example.org' }])
  for (const format of ['toml', 'json'] as const) {
    const dir = t.testdir({ file: formatDocument(document, format) })
    t.same(summaryOf(await plan(readDocument(`${dir}/file`, kindNames), 'prune')), [], format)
  }
})

t.test('an invalid file is rejected with the reason', async t => {
  const { plan } = await applyFixture(t)
  const cases: readonly [Document, RegExp][] = [
    [{ rules: [{ ...web, client: 'rome' }] }, /no client rome/],
    [{ rules: [web, { listen_port: 1 }] }, /^rules\[1\]: \/targets is required$/],
    [{ rules: [{ listen_port: 1, targets: [] }] }, /^rules\[0\]: a rule in the file needs client or clients/],
    [
      { rules: [{ ...web, rate_limits: {} }] },
      /^rules\[0\]: \/rate_limits is unknown here; did you mean rate_limit\?$/
    ],
    [{ rules: [{ ...web, listen_port: 99999 }] }, /^rules\[0\]: \/listen_port must be <= 65535$/],
    [
      { rules: [{ ...web, targets: [{ host: 'db', prt: 1 }] }] },
      /^rules\[0\]: \/targets\/0\/prt is unknown here/
    ],
    [{ users: [{ user_id: 'ann', role: 'root' }] }, /^users\[0\]: \/role must be one of superadmin, user$/],
    [{ owner_limits: [{ client: 'paris', owner: 'ann' }] }, /^owner_limits\[0\]: \/rate_limit is required$/],
    [
      { grants: [{ user_id: 'ann', listen_port_start: 1, listen_port_end: 2, protocols: ['tcp'] }] },
      /^grants\[0\]: each grant in the file needs user_id, client, listen ports and protocols$/
    ],
    [{ rules: [web, web] }, /twice/],
    [{ quotas: [{ user_id: 'ann', client: 'paris' }] }, /^quotas\[0\]: \/monthly_bytes is required$/]
  ]
  for (const [file, message] of cases) await t.rejects(plan(file), { message })
  const dir = t.testdir({ 'a.toml': '[[rulez]]\n', 'b.toml': 'rules = 1\n', 'c.toml': '[[' })
  t.throws(() => readDocument(`${dir}/a.toml`, kindNames), {
    message: /rulez must be one of users, grants, quotas, owner_limits, rules/
  })
  t.throws(() => readDocument(`${dir}/b.toml`, kindNames), { message: /write \[\[rules\]\]/ })
  t.throws(() => readDocument(`${dir}/c.toml`, kindNames), { message: /c.toml cannot be read/ })
})

t.test('a long file is validated in parts, and an error names the place in the whole file', async t => {
  const { plan, app } = await applyFixture(t)
  const note = 'x'.repeat(200)
  const labels = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`k${at}`, note]))
  const rules: object[] = Array.from({ length: 400 }, () => ({ ...web, labels }))
  rules[399] = { ...web, bandwith: 1 }

  await t.rejects(plan({ rules } as unknown as Document), {
    message: /^rules\[399\]: \/bandwith is unknown here/
  })
  t.same((await app.call('GET', '/v1/rules')).body, [])
})

t.test('times in TOML become text, as in the API', async t => {
  const { plan } = await applyFixture(t)
  const toml =
    'expires_at = 2099-01-01T00:00:00Z\nclient = "paris"\nlisten_port = 1\ntargets = [{ host = "a", port = 1 }]'
  const dir = t.testdir({ 'a.toml': `[[rules]]\n${toml}\n`, 'b.toml': `[[rules]]\nlisten_port = nan\n` })

  t.same(summaryOf(await plan(readDocument(`${dir}/a.toml`, kindNames))), ['create rule paris tcp 1'])
  await t.rejects(plan(readDocument(`${dir}/b.toml`, kindNames)), { message: /^rules\[0\]: / })
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
})

async function applyFixture(t: Test) {
  const app = await testServer(t)
  const { clientId } = await testAgent(t, app, 'paris', {
    version: '2.0.0',
    capabilities: {
      [rateLimit.id]: '2.0.0',
      'rule.sni': '2.0.0',
      'rule.target-filter': '2.0.0',
      'traffic.quota': '2.0.0'
    }
  })
  const context = await openDocumentContext({ api: apiOf(app), filled })
  const plan = (file: Document, prune: 'prune' | 'keep' = 'keep') => makePlan(file, prune, context)
  return {
    app,
    clientId,
    context,
    plan,
    async run(file: Document, prune: 'prune' | 'keep' = 'keep') {
      for (const step of await plan(file, prune)) await step.run()
    }
  }
}

const manifests = inDependencyOrder(
  await Promise.all(Object.values(builtin).map(async load => (await load()).default))
)

const filled: SlotReader = slot => filledBare(slot, manifests)

/** Returns an API client like that of the command line, without the network. */
function apiOf({ call }: KitServer): Api {
  const request = async <T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object
  ) => {
    const reply = await call<T & { error: { code: string; message: string } }>(method, path, body)
    if (reply.status < 300) return reply.body as T
    const { code, message } = reply.body.error
    throw new Fault({ code, http: reply.status, exit: 1 }, message)
  }
  const notUsed = () => Promise.reject(new Error('documents do not call operations'))
  return {
    get: path => request('GET', path),
    list: path => request('GET', path),
    send: request,
    call: notUsed,
    rows: notUsed,
    refusal: notUsed,
    origin: '',
    events: () => {
      throw new TypeError('documents have no events')
    }
  }
}
