// Creates a resource of each type for a user. Each function returns the id.

import { Client, Credential, User } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { Lease } from '../../plugins/apply/entities.ts'
import { Session } from '../../plugins/auth/entities.ts'
import type { Deps } from '../../plugins/auth/test/fixture.ts'
import { Grant } from '../../plugins/grants/entities.ts'
import { LinkRow, LinkUse } from '../../plugins/links/entities.ts'
import type { RulesFixture } from '../../plugins/rules/test/fixture.ts'
import type { Kind } from './access-table.ts'

/** Returns a marker for data that only this user and callers who see all may see. */
export const canaryOf = (userId: string): string => `canary-${userId}`

export const unknownId = (segment: string, kind: Kind): string => {
  if (kind === 'malformed') return "%27%20OR%20'1'='1%E2%80%AE"
  return segment === 'users' || segment === 'owners' ? 'no-one' : '01ARZ3NDEKTSV4RRFFQ69G5FAV'
}

/** Inserts rows into the store. */
export const storeResources = ({ store, clock }: Deps, next: () => number) => ({
  async client(name: string): Promise<string> {
    const id = newId()
    const row = { id, name, tokenHash: hashOf(id), revision: 0, enrolledAt: clock.now() }
    await store.change(em => em.insert(Client, row))
    return id
  },
  async user(): Promise<string> {
    const id = `zoe${next()}`
    const row = { displayName: canaryOf(id), role: 'user', disabled: false, createdAt: clock.now() } as const
    await store.change(em => em.insert(User, { id, ...row }))
    return id
  },
  async grant(userId: string, clientId: string): Promise<string> {
    const id = newId()
    const scope = { portFrom: 1, portTo: 65_535, protocols: ['tcp', 'udp'] as const, targets: null }
    const row = { id, userId, clientId, ...scope, note: canaryOf(userId), createdAt: clock.now() }
    await store.change(em => em.insert(Grant, row))
    return id
  },
  /** Adds a link to a rule. */
  async link(ruleId: string, nearId: string, farId: string, userId: string): Promise<string> {
    const id = newId()
    const settings = { direction: 'auto', hosts: null, udpWanted: true, note: canaryOf(userId) } as const
    const state = { state: 'unused', stateReason: null, stateSince: clock.now() } as const
    const rest = { nearRevision: 0, farRevision: 0, updatedAt: clock.now() }
    await store.change(async em => {
      await em.insert(LinkRow, { id, nearId, farId, ...settings, ...state, ...rest })
      await em.insert(LinkUse, { ruleId, linkId: id })
    })
    return id
  },
  async credential(userId: string): Promise<string> {
    const id = newId()
    const secret = { tokenHash: hashOf(id), createdAt: clock.now() }
    await store.change(em => em.insert(Credential, { id, userId, label: canaryOf(userId), ...secret }))
    return id
  },
  async session(userId: string): Promise<string> {
    const id = newId()
    const times = { createdAt: clock.now(), lastSeenAt: clock.now(), freshAt: clock.now(), factors: [] }
    const row = { id, userId, tokenHash: hashOf(id), remoteAddr: '192.0.2.66', method: 'session', ...times }
    await store.change(em => em.insert(Session, row))
    return id
  },
  /** Leases expire by the clock of the store, which may be a database. */
  endLeases: () => store.change(em => em.nativeDelete(Lease, {}))
})

/** Sends requests to the API. */
export const apiResources = ({ call, push }: RulesFixture, next: () => number) => ({
  async rule(owner: string, clientId: string): Promise<string> {
    const targets = [{ host: `${canaryOf(owner)}.example`, port: 80 }]
    const reply = await push({ client: clientId, listen_port: 10_000 + next(), targets, owner })
    if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
    return reply.body.rule_id
  },
  /** Returns an unknown id if the caller may not have a lease. */
  async lease(headers: Record<string, string>): Promise<string> {
    const { body } = await call<{ lease_id?: string }>('POST', '/v1/apply-leases', undefined, headers)
    return body.lease_id ?? unknownId('apply-leases', 'missing')
  },
  async ban(client: string): Promise<string> {
    const reply = await call<{ bans: { ban_id: string }[] }>('POST', '/v1/bans', {
      source: '198.51.100.7',
      client
    })
    return reply.body.bans[0]?.ban_id ?? ''
  },
  async sourceList(): Promise<string> {
    const name = `list${next()}`
    await call('PUT', `/v1/source-lists/${name}`, { entries: [] })
    return name
  },
  async enrollment(): Promise<string> {
    const body = { name: canaryOf('none') }
    const reply = await call<{ enrollment_id: string }>('POST', '/v1/client-enrollments', body)
    return reply.body.enrollment_id
  },
  async enrollmentKey(): Promise<string> {
    const body = { label: canaryOf('none') }
    const reply = await call<{ key_id: string }>('POST', '/v1/enrollment-keys', body)
    return reply.body.key_id
  }
})
