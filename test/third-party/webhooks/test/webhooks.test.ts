// Server events arrive at a receiver.
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { conform } from '../../../../kit/public.ts'
import { quotaFixture } from '../../../../plugins/quota/test/fixture.ts'
import { rulesFixture, until } from '../../../../plugins/rules/test/fixture.ts'
import { plugin, plugins, provideSecret, secret, sectionOf } from './fixture.ts'
import { openReceiver, type ReceivedRequest } from './receiver.ts'

const second = 1_000

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(join(import.meta.dirname, '..'))).problems, [])
})

/** Verifies the signature as the README describes it. */
function isGenuine({ headers, text }: ReceivedRequest): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  const mac = createHmac('sha256', key).update(signed).digest('base64')
  return headers['webhook-signature'] === `v1,${mac}`
}

async function openFixture(t: Test) {
  provideSecret(t)
  const hook = await openReceiver(t)
  const fixture = await rulesFixture(t, {
    plugins: [...plugins, plugin],
    sections: { webhooks: sectionOf(hook, {}) }
  })
  const waiting = async (): Promise<number> =>
    (await fixture.call<{ waiting: number }[]>('GET', '/v1/webhooks')).body[0]?.waiting ?? 0
  return { hook, fixture, queued: (count: number) => until(waiting, seen => seen === count) }
}

t.test('connects and disconnects of a client are sent, signed and in order', async t => {
  const { hook, fixture, queued } = await openFixture(t)
  const clientId = await fixture.enroll('paris')
  const agent = await fixture.connect(clientId)
  await queued(1)
  await agent.close()
  await queued(2)

  await fixture.clock.advance(second)

  const disconnected = await hook.until(2)
  const [connected] = hook.received
  t.match(connected?.json, {
    id: /^[0-9A-Z]{26}$/,
    event: 'client.connected',
    created_at: '2026-01-15T12:00:00.000Z',
    data: { client_id: clientId, client_name: 'paris', agent_version: '2.0.0', remote_addr: '127.0.0.1' }
  })
  t.match(disconnected.json, {
    event: 'client.disconnected',
    data: { client_id: clientId, client_name: 'paris' }
  })
  t.same(connected?.json.data['session_id'], disconnected.json.data['session_id'])
  for (const got of hook.received) {
    t.ok(isGenuine(got))
    t.equal(got.headers['webhook-id'], got.json.id)
    t.equal(got.headers['content-type'], 'application/json')
  }
  await queued(0)
})

t.test('a failed rule is sent with its reason, an active rule is not', async t => {
  const { hook, fixture, queued } = await openFixture(t)
  const clientId = await fixture.enroll('paris')
  const refusing = ({ body }: { body: Record<string, unknown> }) =>
    body['listen_from'] === 81 ? ({ refuse: 'port_in_use' } as const) : 'accept'
  await fixture.connect(clientId, { react: refusing })
  await fixture.push({ client: clientId, listen_port: 80 })
  const { body } = await fixture.push({ client: clientId, listen_port: 81 })
  await queued(2)

  await fixture.clock.advance(second)

  const got = await hook.until(2)
  t.match(got.json, {
    event: 'rule.failed',
    data: {
      rule_id: body.error.details['rule_id'],
      client_id: clientId,
      owner: '_operator',
      reason: 'port_in_use'
    }
  })
})

t.test('a quota is sent at 80 % and at 100 %', async t => {
  provideSecret(t)
  const hook = await openReceiver(t)
  const fixture = await quotaFixture(t, {
    plugins: [...plugins, plugin],
    sections: { webhooks: sectionOf(hook, { events: ['quota.warning', 'quota.exhausted'] }) }
  })
  await fixture.put({ monthly_bytes: 1000 })
  await fixture.use(799, 1)
  await fixture.use(800, 2)
  await fixture.use(1000, 3)

  await fixture.clock.advance(second)

  const spent = await hook.until(2)
  const [warning] = hook.received
  const common = {
    user_id: 'ann',
    client_id: fixture.clientId,
    monthly_bytes: 1000,
    period_end: Date.UTC(2026, 1) / 1000
  }
  t.match(warning?.json, { event: 'quota.warning', data: { ...common, percent: 80, bytes_used: 800 } })
  t.match(spent.json, { event: 'quota.exhausted', data: { ...common, percent: 100, bytes_used: 1000 } })
})
