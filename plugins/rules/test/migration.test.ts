// A store of an earlier version, with changes that its agents had not applied.
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { migrations } from '../migrations.ts'

interface Steps {
  execute(sql: string): Promise<unknown>
  up(): void | Promise<void>
  getQueries(): unknown[]
}

function openOld(t: Test) {
  const db = new DatabaseSync(':memory:')
  t.teardown(() => db.close())
  const migrate = async (index: number): Promise<void> => {
    const driver = { getPlatform: () => ({ getJsonDeclarationSQL: () => 'json' }) }
    const steps = Reflect.construct(migrations[index]?.class ?? Object, [driver, {}]) as Steps
    steps.execute = async sql => db.prepare(sql).all()
    await steps.up()
    for (const query of steps.getQueries()) db.exec(String(query))
  }
  return { db, migrate }
}

t.test('what an agent applied last is kept when its two columns become one', async t => {
  const { db, migrate } = openOld(t)
  db.exec('create table kernel_user (id varchar(32), role varchar(10))')
  for (const index of [0, 1, 2]) await migrate(index)
  const targets = [{ host: 'new', port: 1, priority: 0 }]
  const insert = (id: string, more: Record<string, unknown>) =>
    db
      .prepare(
        `insert into rules (id, client_id, owner, protocol, listen_from, listen_to, targets, prefer_ipv6, fields, state,
         created_at, updated_at, state_changed_at, placed_by, values_before, definition_before)
         values (?, 'c', 'o', 'tcp', 1, 1, ?, 0, ?, 'active', 0, 0, 0, 'o', ?, ?)`
      )
      .run(
        id,
        JSON.stringify(targets),
        JSON.stringify(['pace', 'name']),
        ...(['values', 'definition'] as const).map(key => (more[key] ? JSON.stringify(more[key]) : null))
      )
  insert('still', {})
  insert('hot', { values: { pace: null } })
  const before = [{ host: "it's", port: 2, priority: 0 }]
  const rule = { placedBy: 'p', targets: before, preferIpv6: true, fields: ['name'] }
  insert('whole', { definition: { rule, values: { name: 'x' } } })

  await migrate(3)

  const rows = db.prepare('select id, before, paused, existing from rules order by id').all()
  t.same(
    rows.map(row => ({ ...row, before: JSON.parse(String(row['before'])) })),
    [
      {
        id: 'hot',
        before: {
          rule: { placedBy: 'o', targets, preferIpv6: false, paused: false },
          values: { pace: null },
          whenPortInUse: 'keep'
        },
        paused: 0,
        existing: 'keep'
      },
      { id: 'still', before: null, paused: 0, existing: null },
      {
        id: 'whole',
        before: {
          rule: { placedBy: 'p', targets: before, preferIpv6: true, paused: false },
          values: { pace: null, name: 'x' },
          whenPortInUse: 'undo'
        },
        paused: 0,
        existing: 'keep'
      }
    ]
  )
})

t.test('the ports of the rules of an older store are found by the new indexes', async t => {
  const { db, migrate } = openOld(t)
  db.exec('create table kernel_user (id varchar(32), role varchar(10))')
  for (const index of [0, 1, 2, 3, 4]) await migrate(index)
  const insert = db.prepare(
    `insert into rules (id, client_id, owner, protocol, listen_from, listen_to, moved_from, moved_to, targets, prefer_ipv6,
     fields, state, created_at, updated_at, state_changed_at, placed_by)
     values (?, 'c', 'o', 'tcp', ?, ?, ?, ?, '[]', 0, '[]', 'active', 0, 0, 0, 'o')`
  )
  insert.run('single', 80, 80, null, null)
  insert.run('range', 90, 99, null, null)
  insert.run('moved', 100, 100, 95, 95)

  await migrate(5)

  const found = (index: string, where: string) =>
    db
      .prepare(`select id from rules indexed by ${index} where client_id = 'c' and ${where}`)
      .all()
      .map(({ id }) => id)
  t.same(found('rules_range_index', 'listen_to > listen_from and listen_to >= 95'), ['range'])
  t.same(found('rules_moved_index', 'moved_from is not null'), ['moved'])
  t.equal(found('rules_client_id_owner_state_index', "owner = 'o'").length, 3)
})
