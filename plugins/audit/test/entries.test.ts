import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Fault, internal } from '../../../kernel/base/errors.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { requiredDecisionSlot } from '../../http/exports.ts'
import { auditFixture, matchAll } from './fixture.ts'

t.test('a change is one entry with all fields', async t => {
  const { call, entries, as } = await auditFixture(t)

  await call('POST', '/v1/things/t1?', undefined, { ...as('ann'), 'x-request-id': 'asked-1' })

  const [entry, ...others] = await entries()
  t.match(entry?.id, /^[0-9A-Z]{26}$/)
  t.same(
    { ...entry, id: '' },
    {
      id: '',
      changes: null,
      timestamp: '2026-01-15T12:00:00.000Z',
      actor: 'ann',
      role: 'user',
      auth_method: 'api_token',
      remote_addr: '127.0.0.1',
      method: 'POST',
      path: '/v1/things/t1',
      action: 'thing.make',
      resource_kind: 'thing',
      resource_id: 't1',
      rule_name: null,
      outcome: 'allow',
      status: 201,
      reason: null,
      request_id: 'asked-1',
      count: 1
    }
  )
  t.same(others, [])
})

t.test('a refused mutation is recorded as allow with status and reason, a read is not recorded', async t => {
  const { call, entries, as } = await auditFixture(t)

  await call('POST', '/v1/refused', undefined, as('ann'))
  await call('POST', '/v1/refused', { no: 1 }, as('ann'))
  await call('GET', '/v1/audit')

  matchAll(t, await entries(), [
    { outcome: 'allow', status: 400, reason: 'validation.unknown_field', resource_id: null },
    { outcome: 'allow', status: 409, reason: 'thing_refused', action: 'thing.refuse' }
  ])
})

t.test('a denied read is recorded with its caller', async t => {
  const { call, entries, as } = await auditFixture(t)

  await call('GET', '/v1/audit', undefined, as('ann'))
  await call('GET', '/v1/audit', undefined, { authorization: 'Bearer wrong' })

  matchAll(t, await entries(), [
    { outcome: 'deny', status: 401, reason: 'unauthenticated', actor: null, role: null, auth_method: 'none' },
    { outcome: 'deny', status: 403, reason: 'role_required', actor: 'ann', action: 'audit.list' }
  ])
})

t.test('a change and its entry are one transaction', async t => {
  const late = definePlugin({
    name: 'late',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { http: '^1.0.0', audit: '^1.0.0' }, // so that it runs after audit
    fills: [
      requiredDecisionSlot.fill({
        async write({ outcome, status }) {
          if (outcome === 'allow' && status === 201) throw new Fault(internal, 'the last write fails')
        },
        async complete() {}
      })
    ]
  })
  const { call, entries, server, as } = await auditFixture(t, { plugins: [late] })

  const { status } = await call('POST', '/v1/things/t1', undefined, as('ann'))

  t.equal(status, 500)
  t.equal(await server.depsOf('audit').store.read(em => em.count(User, { id: 't1' })), 0)
  matchAll(t, await entries(), [{ status: 500, reason: 'internal', resource_id: null }])
})

t.test('a route that waits for a client writes at once and completes once', async t => {
  const { promise: answer, resolve } = Promise.withResolvers<void>()
  const { call, entries, as } = await auditFixture(t, { answer })
  const pending = call('POST', '/v1/waiting', undefined, as('ann'))
  let found = await entries()
  while (found.length === 0) {
    await setImmediate() // the change needs the event loop
    found = await entries()
  }

  matchAll(t, found, [{ status: null, outcome: 'allow', resource_kind: 'thing', resource_id: 'w' }])
  resolve()
  t.equal((await pending).status, 201)

  matchAll(t, await entries(), [{ id: found[0]?.id, status: 201, reason: null }])
})

t.test('long values of a caller are truncated to the size of the columns', async t => {
  const { call, entries } = await auditFixture(t)

  await call('POST', `/v1/things/${'x'.repeat(5000)}`, undefined, { authorization: '' })

  t.equal((await entries())[0]?.path.length, 512)
})
