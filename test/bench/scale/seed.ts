import type { Database } from 'better-sqlite3'
import { newId } from '../../../kernel/base/id.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'

export interface Size {
  readonly users: number
  readonly clients: number
  readonly rules: number
}

export interface Seeded {
  readonly admin: string // tokens
  readonly owner: string
  readonly agents: readonly string[]
  readonly clientIds: readonly string[]
}

/** Fills a store: a superadmin, an owner of a tenth of the rules, users, clients, rules and their bytes. */
export function seed(db: Database, { users, clients, rules }: Size): Seeded {
  const seeded = { admin: newSecret(), owner: newSecret(), agents: [] as string[], clientIds: [] as string[] }
  const user = db.prepare(
    'insert into kernel_user (id, display_name, role, disabled, created_at) values (?, ?, ?, 0, 0)'
  )
  const credential = db.prepare(
    `insert into kernel_credential (id, user_id, label, token_hash, created_at, last_used_at) values (?, ?, '', ?, 0, 0)`
  )
  const client = db.prepare(
    'insert into kernel_client (id, name, token_hash, revision, enrolled_at) values (?, ?, ?, 0, 0)'
  )
  const rule =
    db.prepare(`insert into rules (id, client_id, owner, placed_by, protocol, listen_from, listen_to, targets,
    prefer_ipv6, fields, state, created_at, updated_at, state_changed_at)
    values (?, ?, ?, '_operator', 'tcp', ?, ?, ?, 0, '[]', 'active', 0, 0, 0)`)
  const total =
    db.prepare(`insert into stats_total (rule_id, kind, key, client_id, owner, bytes_in, bytes_out,
    connections, dns_failures, failovers, rejected, updated_at) values (?, ?, ?, ?, ?, 123456789, 987654321, 42, 1, 2, 3, 0)`)
  user.run('admin', 'Admin', 'superadmin')
  user.run('owner', 'Owner', 'user')
  credential.run(newId(), 'admin', hashOf(seeded.admin))
  credential.run(newId(), 'owner', hashOf(seeded.owner))
  for (let at = 0; at < users; at++) user.run(`user${at}`, `User ${at}`, 'user')
  for (let at = 0; at < clients; at++) {
    const [id, token] = [newId(), newSecret()]
    client.run(id, `edge-${at}`, hashOf(token))
    seeded.agents.push(token)
    seeded.clientIds.push(id)
  }
  const targets = JSON.stringify([{ host: 'web.example.com', port: 80, priority: 0 }])
  for (let at = 0; at < rules; at++) {
    const [id, clientId] = [newId(), seeded.clientIds[at % clients] ?? '']
    const [owner, port] = [at % 10 === 0 ? 'owner' : 'admin', 1_000 + Math.floor(at / clients)]
    rule.run(id, clientId, owner, port, port, targets)
    total.run(id, 'rule', '', clientId, owner)
    total.run(id, 'port', String(port), clientId, owner)
  }
  return seeded
}
