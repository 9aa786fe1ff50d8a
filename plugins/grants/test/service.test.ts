// The services `grants` and `stats`, as a third-party plugin uses them.
import t from 'tap'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import type { Act } from '../../http/exports.ts'
import type { Stats } from '../../stats/exports.ts'
import type { Grants } from '../exports.ts'
import { grantsFixture, plugins } from './fixture.ts'

const acme = definePlugin({
  name: 'acme',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', grants: '^1.0.0', stats: '^1.0.0' }
})

t.test(
  'a plugin gives and takes grants by itself, with entries in the audit log, and reads them',
  async t => {
    const app = await grantsFixture(t, { plugins: [...plugins, 'stats', 'auth', 'audit', acme] })
    const { act, grants, store } = app.server.depsOf('acme') as Kernel & {
      readonly act: Act
      readonly grants: Grants
    }
    const terms = {
      user_id: 'ada',
      client: 'edge',
      listen_port_start: 8000,
      listen_port_end: 8999,
      protocols: ['tcp']
    }

    const given = await act('_acme', 'acme.give', call => grants.create(terms, call))
    t.match(given, { user_id: 'ada', client_name: 'edge', targets: null })
    t.same(await store.read(em => grants.ofUser('ada', em)), [given])
    t.same(await store.read(em => grants.ofUser('nobody', em)), [])
    t.same(await grants.read(given.grant_id), given)
    const pushed = await app.pushAsAda()
    t.equal(pushed.status, 201)
    t.match(await act('_acme', 'acme.give', call => grants.create(terms, call)).catch(error => error), {
      errorCode: { code: 'grant_already_exists' }
    })

    t.same(await act('_acme', 'acme.take', call => grants.remove(given.grant_id, call)), {
      grant_id: given.grant_id,
      removed_rule_ids: [pushed.body.rule_id]
    })
    t.match((await app.call('GET', '/v1/audit?limit=1')).body, [
      {
        actor: '_acme',
        action: 'acme.take',
        resource_kind: 'grant',
        resource_id: given.grant_id,
        outcome: 'allow'
      }
    ])
  }
)

t.test('a plugin reads the traffic of a rule that the user may see', async t => {
  const app = await grantsFixture(t, { plugins: [...plugins, 'stats', acme] })
  const { stats } = app.server.depsOf('acme') as Kernel & { readonly stats: Stats }
  const { rule_id: id } = (await app.push()).body
  const operator = { userId: '_operator', role: 'superadmin', method: 'system' } as const
  const ada = { userId: 'ada', role: 'user', method: 'system' } as const

  t.match(await stats.ofRule(id, { per_port: true }, operator), {
    rule_id: id,
    bytes_in: 0,
    per_port: [{ listen_port: 8080 }]
  })
  t.match(await stats.ofRule(id, {}, ada).catch(error => error), { errorCode: { code: 'not_owner' } })
  t.equal(
    (await stats.summary(operator)).rules.total,
    (await app.call<unknown[]>('GET', '/v1/rules')).body.length
  )
  t.equal((await stats.summary(ada)).rules.total, 0)
})
