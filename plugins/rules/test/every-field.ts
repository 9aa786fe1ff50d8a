// Every field of a rule on one TCP port, and a client with an agent that supports all of them.
import type { Test } from 'tap'
import { Inventory } from '../../../kernel/wire/control.ts'
import type { Reaction } from '../../../kit/scripted-agent.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { ruleFieldSlot } from '../fields/rule-field.ts'
import { type ErrorReply, rulesFixture } from './fixture.ts'
import { editable } from './patch-fixture.ts'

/** Values for every field of a rule on one TCP port. */
export const pool: Readonly<Record<string, readonly unknown[]>> = {
  targets: [
    [{ host: '10.0.0.1', port: 80 }],
    [
      { host: '10.0.0.2', port: 81 },
      { host: '10.0.0.3', port: 82 }
    ]
  ],
  listen_port: [8080, 8081, 8082],
  prefer_ipv6: [true, false],
  paused: [true, false],
  placed_by: ['_operator', 'root'],
  rate_limit: [null, { concurrent_connections: 5 }, { new_connections_per_sec: 7 }],
  health_check_interval_secs: [null, 30],
  sni_pattern: [null, 'a.example.org', '*.example.org'],
  sni_fallback: [true, false],
  allow_sources: [null, ['192.0.2.0/24']],
  deny_sources: [null, ['198.51.100.7/32']],
  source_limit: [null, { connections: 3 }],
  balance: [null, 'round_robin', 'least_connections'],
  proxy_out: [null, 2],
  proxy_in: [null, ['192.0.2.1/32']],
  ban: [null, { new_connections: 9 }],
  not_before: [null, '2200-01-01T00:00:00Z'],
  expires_at: [null, '2300-01-01T00:00:00Z'],
  schedule: [null, { time_zone: 'UTC', windows: [{ days: ['mon'], from: '08:00', to: '18:00' }] }],
  at_end: ['drain', 'cut'],
  labels: [null, { env: 'prod' }, { env: null, tier: 'db' }, { owner: 'ops' }]
}

/** A server with all plugins that have rule fields, and a rule on a client with an agent that supports all of them. */
export async function openRule(t: Test) {
  const app = await rulesFixture(t, {
    plugins: [
      ...['users', 'clients', 'rules', 'multi-target', 'sni', 'rate-limit', 'labels', 'schedule', 'balance'],
      ...['source-filter', 'source-limit', 'proxy-protocol', 'bans', 'cli', 'port-range']
    ]
  })
  await app.user('ada')
  const clientId = await app.enroll()
  let reaction: Reaction = 'accept'
  /** Answers one push so, and accepts the following ones. */
  const answerNext = (next: Reaction): void => {
    reaction = next
  }
  const react = (): Reaction => {
    const next = reaction
    reaction = 'accept'
    return next
  }
  const all = app.server.depsOf('rules').filled(ruleFieldSlot)
  const required = all.flatMap(({ value }) => ('requires' in value ? [value.requires.capability] : []))
  const capabilities = {
    ...editable.capabilities,
    ...Object.fromEntries(required.map(({ id, since }) => [id, since]))
  }
  const connect = (revision: number | null = null) =>
    app.connect(clientId, {
      capabilities,
      react,
      ...(revision !== null && { inventory: [{ kind: 'rule', id, revision, state: 'applied' }] })
    })
  let id = ''
  const agent = await connect()
  await agent.until(Inventory.name)
  const labels = { env: 'prod', tier: 'web' }
  id = (await app.push({ labels, expires_at: '2250-01-01T00:00:00Z', sni_pattern: 'b.example.org' })).body
    .rule_id
  const patch = (body: object, query = '') =>
    app.call<RuleRecord & ErrorReply>('PATCH', `/v1/rules/${id}${query}`, body, {
      'idempotency-key': String(Math.random())
    })
  return { app, agent, id, patch, answerNext, connect }
}
