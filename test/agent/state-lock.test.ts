// Another process, such as sqlite3 or a backup, has locked the agent's state.db.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { openQueues } from '../../agent/state/queues.ts'
import { openRuleSettings } from '../../agent/state/rule-settings.ts'
import { lockStateDir, openStateDatabase } from '../../agent/state/state-database.ts'
import { lockStore } from '../../kernel/store/data-dir.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import rules from '../../plugins/rules/agent.ts'
import { messages } from '../../plugins/rules/wire.ts'
import { echo, exchange, openCaller, openTarget } from '../engine/engine-fixture.ts'
import { freePort } from '../support/ports.ts'
import { privateDir } from '../support/private-dir.ts'
import { acknowledgeAll, batches, rowsOf, ruleCounters, startJournal, webRule } from './journal-fixture.ts'
import { recordLog } from './recorded-log.ts'
import { scriptedServer } from './scripted-server.ts'
import { pushRule, removeRule, startTestAgent } from './test-agent.ts'

/** Locks the database as another process does. Returns the function that ends the lock. */
function lock(t: Test, dir: string): () => void {
  const db = new DatabaseSync(join(dir, 'state.db'))
  t.teardown(() => db.close())
  db.exec('begin immediate')
  return () => db.exec('rollback')
}

function openUnwaiting(t: Test, dir: string) {
  const db = openStateDatabase(dir, 'normal')
  t.teardown(() => db.close())
  db.setLockWait(0)
  return db
}

/** The rules, with a lock of the database that begins when a change arrives, and ends when the event loop runs on. */
function lockedRules(t: Test, dir: string): AgentPlugin {
  const lockBriefly = (): void => void setTimeout(lock(t, dir), 50)
  const kinds = rules.kinds.map(kind => ({
    ...kind,
    readPush(body: never) {
      lockBriefly()
      return kind.readPush(body)
    },
    readRemove(body: never) {
      lockBriefly()
      return kind.readRemove?.(body) ?? { id: '', revision: 0 }
    }
  }))
  return { ...rules, kinds }
}

t.test('a lock of the database delays changes of rules, and does not stop the event loop', async t => {
  const dir = t.testdir()
  const server = await scriptedServer(t, { messages })
  const { engine, log } = startTestAgent(t, { dir, server, plugins: [lockedRules(t, dir)] })
  const connection = await server.next()

  t.match(await pushRule(connection, 'rule-1', 4, 8080), { rule_id: 'rule-1', revision: 4 })
  t.equal(engine.rules.size, 1)
  t.match(await removeRule(connection, 'rule-1', 5, 'cut'), { rule_id: 'rule-1', revision: 5 })
  t.equal(engine.rules.size, 0)
  t.equal(log.count('plugin.failed'), 0)
})

t.test('traffic flows while the database is locked, and is counted when the lock ends', async t => {
  const dir = t.testdir()
  const server = await scriptedServer(t, { messages })
  const { clock, log } = startTestAgent(t, { dir, server, openEngine: openPortableEngine })
  const listenPort = await freePort()
  const target = { host: '127.0.0.1', port: await openTarget(t, echo) }
  await pushRule(await server.next(), 'rule-1', 4, listenPort, false, target)
  const caller = await openCaller(t, listenPort)

  const unlock = lock(t, dir)
  t.equal(await exchange(caller, 'hello'), 'hello')
  await clock.advance(1_000)
  t.equal(log.count('journal.write_failed'), 1)
  unlock()
  await clock.advance(1_000)

  const written = new DatabaseSync(join(dir, 'state.db'))
  t.teardown(() => written.close())
  t.match(written.prepare("select bytes_in from journal_row where kind = 'port'").all(), [{ bytes_in: 5 }])
})

t.test('items that a queue gets and loses during a lock are written when the lock ends', async t => {
  const dir = t.testdir()
  const db = openUnwaiting(t, dir)
  const clock = fakeClock()
  const queue = openQueues({ db, clock, log: recordLog() }).open('one')
  for (const item of ['a', 'b', 'c']) queue.push(item)
  const [first] = queue.first(1)

  const unlock = lock(t, dir)
  queue.removeUntil(first!.seq)
  queue.push('d')
  t.same(
    queue.first(9).map(({ item }) => item),
    ['b', 'c'],
    'a removed item does not come back'
  )
  unlock()
  await clock.advance(1_000)

  t.same(db.prepare('select item from queue_item order by seq').all(), [
    { item: 'b' },
    { item: 'c' },
    { item: 'd' }
  ])
})

t.test('settings that arrive during a lock apply at once, and are saved when the lock ends', async t => {
  const dir = t.testdir()
  const db = openUnwaiting(t, dir)
  const clock = fakeClock()
  const log = recordLog()
  const settings = openRuleSettings({ db, clock, log })

  const unlock = lock(t, dir)
  settings.save({ drainMs: 7_000 })
  t.equal(settings.current().drainMs, 7_000)
  await clock.advance(1_000)
  unlock()
  await clock.advance(1_000)

  t.equal(log.count('agent.settings_not_written'), 1, 'logged once')
  t.equal(openRuleSettings({ db, clock, log }).current().drainMs, 7_000, 'after a restart')
})

t.test('rows that the server lost are reported again, although its answer came during a lock', async t => {
  const dir = t.testdir()
  const { journal, db } = startJournal(t, dir)
  db.setLockWait(0)
  journal.bind(1, webRule)
  journal.tick([ruleCounters(1, [10, 0])])
  acknowledgeAll(journal)

  const unlock = lock(t, dir)
  journal.tick([ruleCounters(1, [15, 0])])
  journal.reconcile({})
  t.throws(() => batches(journal), /locked/, 'no report leaves without them')
  unlock()
  journal.tick([ruleCounters(1, [15, 0])])

  t.match(rowsOf(batches(journal)), { 'port 8080': { bytesIn: 15 } })
})

t.test('bytes that cannot be written count for the quota of their owner', async t => {
  const dir = t.testdir()
  const { journal, db } = startJournal(t, dir)
  db.setLockWait(0)
  journal.bind(1, webRule)
  journal.bind(2, { ...webRule, id: '01RULEOTHER', owner: 'bob' })
  journal.tick([ruleCounters(1, [10, 0]), ruleCounters(2, [1, 0])])
  const nothing = { epoch: '', seq: 0, since: 0 }
  const bytesOf = (owner: string): number[] => [
    journal.delivered(owner),
    journal.unacknowledged(owner, nothing),
    journal.deliveredSince(owner, 0)
  ]

  const unlock = lock(t, dir)
  journal.tick([ruleCounters(1, [10, 5]), ruleCounters(2, [1, 0])])
  t.same(
    [bytesOf('ann'), bytesOf('bob')],
    [
      [15, 15, 15],
      [1, 1, 1]
    ]
  )
  unlock()
  journal.tick([ruleCounters(1, [10, 5]), ruleCounters(2, [1, 0])])
  t.same(bytesOf('ann'), [15, 15, 15])
})

t.test('the end of a gap that the server corrects during a lock is saved when the lock ends', async t => {
  const dir = t.testdir()
  const clock = fakeClock()
  const start = clock.now()
  startJournal(t, dir, clock).db.close() // as after a kill
  const { journal, db } = startJournal(t, dir, clock)
  db.setLockWait(0)

  const unlock = lock(t, dir)
  journal.setServerTime(start + 60_000, clock.monotonic())
  unlock()

  t.match(batches(journal), [{ gap: { fromMs: start, toMs: start + 60_000 } }])
})

t.test('the locks of both directories write nothing, so a full disk does not prevent a start', async t => {
  for (const lock of [lockStateDir, lockStore]) {
    const dir = privateDir(t)
    t.teardown(lock(dir))

    t.same(readdirSync(dir), ['lock.db'])
  }
})

t.test('a damaged state.db ends the start with 78 and a remedy', async t => {
  const dir = privateDir(t)
  writeFileSync(join(dir, 'state.db'), 'no database'.repeat(1000))

  t.throws(() => openStateDatabase(dir), {
    errorCode: { exit: 78 },
    message: /state\.db is damaged: .*move it away/
  })
})

t.test(
  'a state.db that cannot be opened now ends the start with 6, so that a later start can succeed',
  async t => {
    const dir = privateDir(t)
    mkdirSync(join(dir, 'state.db'))

    t.throws(() => openStateDatabase(dir), {
      errorCode: { exit: 6 },
      message: /state\.db cannot be opened at present: .*check the space/
    })
  }
)
