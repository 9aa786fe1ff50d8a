// The kinds of all sources, each by what causes it.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Credential, User } from '../../../kernel/identity/entities.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { shownNetworkOf } from '../../auth/session/sign-in-notice.ts'
import { type ExpirySource, expirySlot } from '../../http/exports.ts'
import { openTargetNotice } from '../../multi-target/notice.ts'
import { RuleTimes } from '../../schedule/entities.ts'
import { NotifyExpiry, NotifyObject, NotifyRule } from '../entities.ts'
import { type NotifyFixture, notifyFixture } from './fixture.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const all = [
  'users',
  'clients',
  'rules',
  'credentials',
  'stats',
  'quota',
  'schedule',
  'multi-target',
  'auth',
  'notify'
]

const kindsOf = async (app: NotifyFixture) =>
  (await app.notifications()).map(({ kind, names }) => ({ kind, names }))

t.test('a rule that fails is reported to its owner, once, and a removed rule is forgotten', async t => {
  const app = await notifyFixture(t)
  const clientId = await app.enroll()
  await app.connect(clientId, { react: () => ({ refuse: 'port_in_use' }) })
  const ann = await app.user('ann')
  await app.push({ owner: 'ann', name: 'web' })
  await app.push({ owner: 'ann', listen_port: 9_000 })
  await app.clock.advance(10 * second)
  t.same((await kindsOf(app))[0], {
    kind: 'rule_failed',
    names: ['web on edge (port_in_use)', 'port 9000 on edge (port_in_use)']
  })
  t.match(await app.notifications(ann), [{ count: 2 }])
})

t.test('a rule that fails and recovers between two rounds is reported, and a removed one is not', async t => {
  const app = await notifyFixture(t)
  await app.connect(await app.enroll())
  const { body } = await app.push({ name: 'web' })
  const { failedRules } = app.deps
  const rule = { id: body.rule_id, clientId: body.client_id ?? '', owner: '_operator' }
  await app.change(async em => {
    await failedRules.changed({ ...rule, from: 'active', state: 'failed', reason: 'port_in_use' }, em)
    await failedRules.changed({ ...rule, from: 'failed', state: 'active', reason: null }, em)
    const other = { ...rule, id: 'other' }
    await failedRules.changed({ ...other, from: 'active', state: 'failed', reason: null }, em)
    await failedRules.removed(other, em)
  })
  t.same(await kindsOf(app), [], 'the transaction of the results reports nothing itself')
  await app.clock.advance(10 * second)
  t.same(await kindsOf(app), [{ kind: 'rule_failed', names: ['web on edge (port_in_use)'] }])
  t.match(await app.change(em => em.find(NotifyObject, { subject: 'rule_failed' })), [{ state: '' }])
  t.equal(await app.change(em => em.count(NotifyRule, {})), 0)
})

t.test('a quota that reaches 80 and 100 % is reported for each', async t => {
  const app = await notifyFixture(t, { plugins: all })
  const clientId = await app.enroll()
  const ann = await app.user('ann')
  const quota = app.server.depsOf('quota') as unknown as {
    quotaNotice: { reached(level: object, em: object): Promise<void> }
  }
  const level = { userId: 'ann', clientId, bytesUsed: 1, monthlyBytes: 1, periodEnd: 5 }
  for (const percent of [80, 100, 100])
    await app.change(em => quota.quotaNotice.reached({ ...level, percent }, em))
  t.same(await kindsOf(app), [{ kind: 'quota', names: ['ann on edge (80 %)', 'ann on edge (100 %)'] }])
  t.match(await app.notifications(ann), [{ kind: 'quota', count: 2 }])
})

t.test(
  'a token and a rule are reported 14 and 3 days before their end, and short-lived ones less often',
  async t => {
    const app = await notifyFixture(t, { plugins: all })
    const ann = await app.user('ann')
    const now = app.clock.now()
    const token = (id: string, days: number) => ({
      id: id.padEnd(26, '0'),
      userId: 'ann',
      label: id,
      tokenHash: id,
      createdAt: now,
      expiresAt: now + days * day + minute
    })
    await app.change(em =>
      em.insertMany(Credential, [token('long', 15), token('week', 7), token('short', 2)])
    )
    await app.connect(await app.enroll())
    const made = await app.push({ name: 'web' })
    await app.change(em =>
      em.insert(RuleTimes, { rule: made.body.rule_id, expiresAt: now + 15 * day + minute })
    )
    const step = async (days: number) => {
      app.clock.step(days * day)
      await app.clock.advance(2 * minute)
    }
    await step(0)
    t.same(await kindsOf(app), [])
    await step(1)
    const [first] = await app.notifications()
    t.match(first, { kind: 'expires_soon', count: 2 })
    t.same(first?.names.map(name => name.replace(/ \(.*/, '')).sort(), ['rule web', 'token long of ann'])
    t.match(await app.notifications(ann), [
      { count: 1, names: [/^token long of ann \(2026-01-30T12:01Z\)$/] }
    ])
    await step(3)
    t.match(await app.notifications(), [{ names: [/^token week of ann/] }, {}])
    await step(8)
    t.match(await app.notifications(), [{ count: 2 }, {}, {}])
    await step(30)
    t.equal((await kindsOf(app)).filter(({ kind }) => kind === 'expires_soon').length, 3)
  }
)

t.test('what expired while no server ran is not reported, and a restart repeats nothing', async t => {
  const app = await notifyFixture(t, { plugins: all })
  await app.user('ann')
  const now = app.clock.now()
  const token = { userId: 'ann', label: 'x', createdAt: now, expiresAt: now + 3.5 * day }
  await app.change(em => em.insert(Credential, { id: 'x'.padEnd(26, '0'), tokenHash: 'x', ...token }))
  app.clock.step(day)
  await app.clock.advance(minute)
  t.equal((await app.notifications()).length, 1)
  await app.change(em => em.nativeUpdate(NotifyExpiry, {}, { reportedUntil: now }))
  app.clock.step(5 * day)
  await app.clock.advance(minute)
  t.equal((await app.notifications()).length, 1)
})

t.test('a source of ends that throws stops no other one, and is asked again for the same time', async t => {
  let source: ExpirySource = async () => {
    throw new Error('the disk is away')
  }
  const failing = definePlugin({
    name: 'failing',
    version: '1.0.0',
    kernel: '^2.0.0',
    fills: [expirySlot.fill((page, em) => source(page, em))]
  })
  const app = await notifyFixture(t, { plugins: [...all, failing] })
  await app.user('ann')
  const now = app.clock.now()
  const expiresAt = now + 14 * day + minute
  const token = { userId: 'ann', label: 'x', createdAt: now, expiresAt }
  await app.change(em => em.insert(Credential, { id: 'x'.padEnd(26, '0'), tokenHash: 'x', ...token }))
  await app.clock.advance(2 * minute)
  t.match(await app.notifications(), [{ kind: 'expires_soon', names: [/^token x of ann/] }])
  t.match(app.log.filter(({ event }) => event === 'notify.source_failed').slice(0, 1), [
    { fields: { plugin: 'failing' }, message: /the disk is away/ }
  ])

  const lamp = { object: 'lamp', name: 'lamp', owner: null, expiresAt, setAt: now }
  source = async ({ from, to }) => [lamp].filter(found => found.expiresAt >= from && found.expiresAt <= to)
  await app.clock.advance(2 * minute)
  t.match(await app.notifications(), [{ names: [/^lamp/] }, { names: [/^token x/] }])
})

t.test('what a source has told before it throws is reported once, however long it throws', async t => {
  const lamp = { object: 'lamp', name: 'lamp', owner: null }
  const failing = definePlugin({
    name: 'failing',
    version: '1.0.0',
    kernel: '^2.0.0',
    fills: [
      expirySlot.fill(async ({ from, to }) =>
        [{ ...lamp, expiresAt: end, setAt: 0 }].filter(
          found => found.expiresAt >= from && found.expiresAt <= to
        )
      ),
      expirySlot.fill(async () => {
        throw new Error('the disk is away')
      })
    ]
  })
  let end = 0
  const app = await notifyFixture(t, { plugins: [...all, failing] })
  end = app.clock.now() + 14 * day + minute
  await app.clock.advance(2 * minute)
  t.match(await app.notifications(), [{ names: [/^lamp/] }])
  for (let hours = 0; hours < 3; hours++) await app.clock.advance(61 * minute)
  t.equal((await app.notifications()).length, 1)
})

t.test('tokens beyond a page of those that end at once are reported, too', async t => {
  const app = await notifyFixture(t, { plugins: all })
  await app.user('ann')
  const now = app.clock.now()
  const tokens = Array.from({ length: 450 }, (_, at) => ({
    id: String(at).padStart(26, '0'),
    userId: 'ann',
    label: String(at),
    tokenHash: String(at),
    createdAt: now,
    expiresAt: now + 14 * day + minute
  }))
  await app.change(em => em.insertMany(Credential, tokens))
  await app.clock.advance(2 * minute)
  const rows = await app.notifications()
  t.equal(
    rows.reduce((sum, { count }) => sum + count, 0),
    450
  )
})

t.test('the first sign-in of a superadmin from a network in 90 days is reported', async t => {
  const app = await notifyFixture(t, { plugins: all })
  await app.user('ann')
  const auth = app.server.depsOf('auth') as unknown as {
    sessions: { open(em: object, session: object): Promise<string> }
  }
  const signIn = (userId: string, remoteAddr: string) =>
    app.change(em => auth.sessions.open(em, { userId, remoteAddr, keyHash: null, factors: ['password'] }))
  await app.change(em => em.nativeUpdate(User, { id: 'root' }, { role: 'superadmin' }))
  await signIn('root', '198.51.100.7')
  await signIn('root', '198.51.100.200')
  await signIn('root', '2001:db8:1:2::1')
  await signIn('root', '2001:db8:1:9::1')
  await signIn('ann', '203.0.113.1')
  t.same(await kindsOf(app), [
    { kind: 'superadmin_sign_in', names: ['root from 198.51.100.0/24', 'root from 2001:db8:1::/48'] }
  ])
  app.clock.step(89 * day)
  await signIn('root', '198.51.100.7')
  app.clock.step(89 * day)
  await signIn('root', '198.51.100.7')
  t.equal((await app.notifications()).length, 1)
  app.clock.step(91 * day)
  await signIn('root', '198.51.100.7')
  t.equal((await app.notifications()).length, 2)
  t.equal(shownNetworkOf('::ffff:192.0.2.9'), '192.0.2.0/24')
})

t.test('targets_failed is raised when all targets of a rule are failed or ejected', async t => {
  const app = await notifyFixture(t, { plugins: all })
  const { source, judge } = openTargetNotice(app.deps)
  const kind = 'targets_failed'
  source.connect({
    raise: async () => {},
    begin: (about, em) => app.deps.objects.observe({ ...about, subject: kind, state: 'on', kind }, em),
    end: (object, em) =>
      app.deps.objects.observe(
        { object, name: object, owner: null, subject: kind, state: '', kind: null },
        em
      )
  })
  const scope = { owner: 'ann', name: 'web', listenFrom: 1 }
  const failed = { state: 'failed' as const, consecutive_failures: 1 }
  const healthy = { state: 'healthy' as const, consecutive_failures: 0 }
  const ejected = { ...healthy, ejected_until_ms: app.clock.now() + hour }
  const judgeWith = (targets: readonly object[], before: boolean, isNew = false) =>
    judge([{ id: 'r', scope, targets: targets as never, isNew, before }])
  await judgeWith([failed, healthy], false, true)
  t.same(await kindsOf(app), [])
  await judgeWith([failed, ejected], false)
  t.same(await kindsOf(app), [{ kind: 'targets_failed', names: ['web'] }])
  await judgeWith([healthy, ejected], true)
  await app.clock.advance(hour + minute)
  await judgeWith([failed, failed], false)
  t.equal((await app.notifications()).length, 2)
})

t.test(
  'a backup that is older than 48 h is reported, and without a backup nothing is',
  { skip: notOnPostgres('backups are of SQLite') },
  async t => {
    const app = await notifyFixture(t)
    await app.clock.advance(2 * minute)
    t.same(await kindsOf(app), [])
    const made = new Date(app.clock.now()).toISOString()
    writeFileSync(join(app.dir, 'last-backup'), `${made}\n`)
    app.clock.step(47 * hour)
    await app.clock.advance(minute)
    t.same(await kindsOf(app), [])
    app.clock.step(hour)
    await app.clock.advance(minute)
    t.same(await kindsOf(app), [{ kind: 'backup_old', names: [`made at ${made}`] }])
  }
)
