import type { Database } from 'better-sqlite3'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'

export interface Size {
  readonly users: number
  readonly clients: number
  readonly rules: number
  readonly watchers: number // readers of one event stream each
}

export interface SeededAgent {
  readonly clientId: string
  readonly token: string
  readonly rules: { readonly id: string; readonly revision: number; readonly port: number }[] // already on the agent
}

/** The event stream of a rule's stats, and a token that may read it. */
export interface EventStream {
  readonly token: string
  readonly path: string
}

export interface SeedResult {
  readonly adminToken: string
  readonly ownerToken: string
  readonly agents: readonly SeededAgent[]
  readonly eventStreams: readonly EventStream[]
  readonly generation: string
}

const streamsPerUser = 16 // the server's limit

/**
 * Fills a store with users, clients, rules and traffic totals. Users own the watched rules, at most 16 each. The user
 * `owner` owns a tenth of the other rules, and a superadmin owns the rest.
 */
export function seed(db: Database, { users, clients, rules, watchers }: Size): SeedResult {
  const insert = prepareInserts(db)
  const adminToken = newSecret()
  const ownerToken = newSecret()
  insert.user('admin', 'superadmin', adminToken)
  insert.user('owner', 'user', ownerToken)
  const tokens = Array.from({ length: users }, () => newSecret())
  for (const [at, token] of tokens.entries()) insert.user(`user${at}`, 'user', token)
  const agents: readonly SeededAgent[] = Array.from({ length: clients }, (_, at) => {
    const agent = { clientId: newId(), token: newSecret(), rules: [] }
    insert.client(agent, `edge-${at}`, Math.ceil(rules / clients))
    return agent
  })
  const eventStreams: EventStream[] = []
  for (let at = 0; at < rules; at++) {
    const agent = agents[at % clients]
    if (!agent) throw new RangeError('there are no clients')
    const revision = 1 + Math.floor(at / clients)
    const userAt = Math.floor(at / streamsPerUser)
    const token = tokens[userAt]
    const isWatched = at < watchers && token !== undefined
    const rule = { id: newId(), revision, port: 999 + revision }
    insert.rule(agent.clientId, rule, isWatched ? `user${userAt}` : at % 10 === 0 ? 'owner' : 'admin')
    agent.rules.push(rule)
    if (isWatched) eventStreams.push({ token, path: `/v1/rules/${rule.id}/stats/stream` })
  }
  const generation = db.prepare<[], { value: string }>(
    `select value from kernel_store_value where name = 'generation'`
  )
  return { adminToken, ownerToken, agents, eventStreams, generation: generation.get()?.value ?? '' }
}

function prepareInserts(db: Database) {
  const user = db.prepare(
    'insert into kernel_user (id, display_name, role, disabled, created_at) values (?, ?, ?, 0, 0)'
  )
  const credential = db.prepare(
    `insert into kernel_credential (id, user_id, label, token_hash, created_at, last_used_at) values (?, ?, '', ?, 0, 0)`
  )
  const client = db.prepare(
    'insert into kernel_client (id, name, token_hash, revision, enrolled_at) values (?, ?, ?, ?, 0)'
  )
  const rule =
    db.prepare(`insert into rules (id, client_id, owner, placed_by, protocol, listen_from, listen_to, targets,
    prefer_ipv6, fields, state, created_at, updated_at, state_changed_at)
    values (?, ?, ?, '_operator', 'tcp', ?, ?, ?, 0, '[]', 'active', 0, 0, 0)`)
  const objects = db.prepare(
    'insert into kernel_managed_object (client_id, kind, id, revision) values (?, ?, ?, ?)'
  )
  const total =
    db.prepare(`insert into stats_total (rule_id, kind, key, client_id, owner, bytes_in, bytes_out,
    connections, dns_failures, failovers, rejected, updated_at) values (?, ?, ?, ?, ?, 123456789, 987654321, 42, 1, 2, 3, 0)`)
  const targets = JSON.stringify([{ host: 'web.example.com', port: 80, priority: 0 }])
  return {
    user(id: string, role: string, token: string): void {
      user.run(id, id, role)
      credential.run(newId(), id, hashOf(token))
    },
    client({ clientId, token }: SeededAgent, name: string, revision: number): void {
      client.run(clientId, name, hashOf(token), revision)
    },
    rule(clientId: string, { id, revision, port }: SeededAgent['rules'][number], owner: string): void {
      rule.run(id, clientId, owner, port, port, targets)
      objects.run(clientId, 'rule', id, revision)
      total.run(id, 'rule', '', clientId, owner)
      total.run(id, 'port', String(port), clientId, owner)
    }
  }
}
