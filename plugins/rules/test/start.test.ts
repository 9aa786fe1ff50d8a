// A starting server checks its rules.
import t from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { Statements } from '../../../kernel/store/sqlite/statements.ts'
import { notOnPostgres, notRepeated } from '../../../test/support/store.ts'
import { newRule } from '../changes/insert-rules.ts'
import { Rule } from '../entities.ts'
import { rulesFixture } from './fixture.ts'

const many = 2500 // more than two pages

t.test(
  'a start reads each rule once, and deletes rules of deleted clients',
  { skip: notOnPostgres('it counts statements of SQLite') || notRepeated('it counts statements') },
  async t => {
    const app = await rulesFixture(t)
    const { store } = app.server.depsOf('rules')
    const [clientId, gone] = [await app.enroll(), await app.enroll('gone')]
    const now = app.clock.now()
    await store.change(async em => {
      for (let at = 0; at < many; at++) {
        const where = { clientId: at % 500 === 0 ? gone : clientId, owner: 'ann', placedBy: 'ann' }
        const ports = { protocol: 'tcp' as const, listenFrom: 1000 + at, listenTo: 1000 + at }
        const draft = { ...ports, targets: [{ host: '10.0.0.1', port: 80, priority: 0 }], preferIpv6: false }
        const more = { id: newId(now), isExempt: false, fields: [], paused: false }
        const { isExempt: _, ...row } = newRule({ ...draft, ...where, ...more }, now)
        await em.insert(Rule, { ...row, state: 'active', activatedAt: now })
      }
      await em.nativeDelete(Client, { id: gone }) // as while this plugin is disabled
    })
    const { run } = Statements.prototype
    t.teardown(() => Object.assign(Statements.prototype, { run }))
    let [read, written] = [0, 0]
    Statements.prototype.run = function (query, writes) {
      const result = run.call(this, query, writes)
      if (/^select .*targets.* from "?rules"? /s.test(query.sql)) read += result.rows.length
      if (/^(update|insert into|delete from) "?rules"? /.test(query.sql)) written += result.affectedRows
      return result
    }

    await app.restart()

    t.same({ read, written }, { read: many, written: many / 500 })
  }
)
