// A server with every plugin, a connected client, and resources of several users for the ids of paths.
import type { Test } from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { newId } from '../../kernel/base/id.ts'
import { Client, Credential, User } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { leaseMs } from '../../plugins/apply/leases.ts'
import { Session } from '../../plugins/auth/entities.ts'
import { type Deps, origin } from '../../plugins/auth/test/fixture.ts'
import { Grant } from '../../plugins/grants/entities.ts'
import { capability, Targets } from '../../plugins/grants/wire.ts'
import { type RulesFixture, rulesFixture } from '../../plugins/rules/test/fixture.ts'
import { messages } from '../../plugins/rules/wire.ts'
import { type Caller, callers, password, resetUsers } from './callers.ts'
import { type Kind, relationAt, segmentsOf } from './table.ts'

export interface AccessFixture extends RulesFixture {
  readonly edge: string // a client on which ada has a grant; its agent is connected and supports only rules
  /** Restores a user to its state in callers.ts. */
  restore(userId: string): Promise<void>
  /** Returns a new number, for names and ports. */
  next(): number
  /** Fills in ids of the given kind, `fresh` ones for a request that deletes them. Null: there are none. */
  pathOf(path: string, caller: Caller, kind: Kind, life: 'shared' | 'fresh'): Promise<string | null>
}

/** A marker in data that only this user and superadmins may see. */
export const canaryOf = (userId: string): string => `canary-${userId}`

export async function accessFixture(t: Test): Promise<AccessFixture> {
  const rules = await rulesFixture(t, {
    plugins: Object.keys(builtin).filter(name => name !== 'watchdog'), // it needs a real clock
    keys: { operator_http_public_origin: origin, trusted_proxies: ['127.0.0.1'] }
  })
  const deps = rules.server.depsOf('auth') as Deps
  const { store } = deps
  const { clock } = rules
  await store.read(em => em.execute('pragma synchronous = off')) // thousands of decisions, which need not survive a power failure
  const hash = await deps.hashPool.run(argon => argon.hash(password))
  let count = 0
  const next = (): number => ++count

  async function client(name: string): Promise<string> {
    const id = newId()
    await store.change(em =>
      em.insert(Client, { id, name, tokenHash: hashOf(id), revision: 0, enrolledAt: clock.now() })
    )
    return id
  }
  const [edge, depot, stray] = [await client('edge'), await client('depot'), await client(canaryOf('none'))]
  await rules.connect(edge, {
    capabilities: { [capability.id]: capability.since },
    messages: [...messages, Targets]
  })

  async function grant(userId: string, clientId = edge): Promise<string> {
    const id = newId()
    const ports = { portFrom: 1, portTo: 65_535, protocols: ['tcp', 'udp'] as const }
    const row = {
      id,
      userId,
      clientId,
      ...ports,
      targets: null,
      note: canaryOf(userId),
      createdAt: clock.now()
    }
    await store.change(em => em.insert(Grant, row))
    return id
  }

  async function rule(owner: string): Promise<string> {
    const targets = [{ host: `${canaryOf(owner)}.example`, port: 80 }]
    const reply = await rules.push({ client: edge, listen_port: 10_000 + next(), targets, owner })
    if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
    return reply.body.rule_id
  }

  async function credential(userId: string): Promise<string> {
    const id = newId()
    const secret = { tokenHash: hashOf(id), createdAt: clock.now() }
    await store.change(em => em.insert(Credential, { id, userId, label: canaryOf(userId), ...secret }))
    return id
  }

  async function session(userId: string): Promise<string> {
    const id = newId()
    const times = { createdAt: clock.now(), lastSeenAt: clock.now() }
    const row = { id, userId, tokenHash: hashOf(id), remoteAddr: '192.0.2.66', ...times }
    await store.change(em => em.insert(Session, row))
    return id
  }

  async function user(): Promise<string> {
    const id = `zoe${next()}`
    const row = { displayName: canaryOf(id), role: 'user', disabled: false, createdAt: clock.now() } as const
    await store.change(em => em.insert(User, { id, ...row }))
    return id
  }

  /** Creates a lease after all earlier ones have expired. Returns an unknown id if the caller may not have one. */
  async function lease(headers: Record<string, string>): Promise<string> {
    await clock.advance(leaseMs)
    const { body } = await rules.call<{ lease_id?: string }>('POST', '/v1/apply-leases', undefined, headers)
    return body.lease_id ?? absent('apply-leases', 'missing')
  }

  const enrollment = async (): Promise<string> =>
    (
      await rules.call<{ enrollment_id: string }>('POST', '/v1/client-enrollments', {
        name: canaryOf('none')
      })
    ).body.enrollment_id

  await resetUsers(deps, hash)
  await demoteBoss(rules, deps)
  await endSessionOfRex(rules, deps)
  await grant('ada')
  await grant('ada', depot)
  const lost = await grant('gus')
  const gus = { authorization: 'Bearer svct_gus' }
  const pushed = { client: edge, listen_port: next() + 10_000, targets: [{ host: '10.0.0.1', port: 80 }] }
  const { rule_id: goneRule } = (await rules.call<{ rule_id: string }>('POST', '/v1/rules', pushed, gus)).body
  await rules.call('DELETE', `/v1/grants/${lost}`)

  /** Creates a resource of the type that the path segment names, for this owner. Null: impossible for this caller. */
  async function make(segment: string, owner: string, of: Caller): Promise<string | null> {
    const isOwn = owner === of.userId
    if (segment === 'users' || segment === 'owners') return owner
    if (segment === 'credentials') return credential(owner)
    if (segment === 'sessions') return session(owner)
    if (segment === 'grants') return grant('zoe') // a grant of the caller itself would give it more rights
    if (segment === 'client-enrollments') return enrollment()
    if (segment === 'apply-leases')
      return lease(isOwn ? { ...of.headers } : { authorization: 'Bearer svct_zoe' })
    if (segment !== 'rules') return clientOf(of, isOwn)
    if (isOwn && of.name === 'ungranted') return goneRule
    return isOwn && of.name === 'stranger' ? null : rule(owner)
  }

  async function clientOf({ role, name }: Caller, isOwn: boolean): Promise<string | null> {
    if (role === 'super') return client(canaryOf('none'))
    if (!isOwn) return stray
    return name === 'stranger' || name === 'demoted' ? null : depot
  }

  const shared = new Map<string, Promise<string | null>>()
  const share: typeof make = (segment, owner, of) => {
    const key = `${segment} ${owner} ${of.name}`
    const made = shared.get(key) ?? make(segment, owner, of)
    shared.set(key, made)
    return made
  }

  async function pathOf(path: string, caller: Caller, kind: Kind, life: 'shared' | 'fresh') {
    const segments = segmentsOf(path)
    const [thing, other] = life === 'fresh' ? [make, await user()] : [share, 'zoe']
    const me = caller.userId ?? 'ada'
    let filled = path
    for (const [at, segment] of segments.entries()) {
      const relation = relationAt(kind, at, segments.length)
      const isOther = relation === 'foreign' || kind === 'foreign'
      const id =
        relation === 'missing' ? absent(segment, kind) : await thing(segment, isOther ? other : me, caller)
      if (id === null) return null
      filled = filled.replace(/:\w+/, id)
    }
    return filled
  }

  return { ...rules, edge, next, pathOf, restore: userId => resetUsers(deps, hash, [userId]) }
}

const headersOf = (name: string): Record<string, string> => ({
  ...callers.find(caller => caller.name === name)?.headers
})

/** Demotes boss after it used its session as a superadmin. */
async function demoteBoss(rules: RulesFixture, { store }: Deps): Promise<void> {
  await store.change(em => em.nativeUpdate(User, { id: 'boss' }, { role: 'superadmin' }))
  const { status } = await rules.call('GET', '/v1/users', undefined, headersOf('demoted'))
  if (status !== 200) throw new Error(`boss was no superadmin: ${status}`)
  await rules.call('PATCH', '/v1/users/boss', { role: 'user' })
}

/** Ends a session of rex that was valid. */
async function endSessionOfRex(rules: RulesFixture, { store, clock }: Deps): Promise<void> {
  const times = { createdAt: clock.now(), lastSeenAt: clock.now() }
  const tokenHash = hashOf('session-of-rex')
  await store.change(em =>
    em.insert(Session, { id: newId(), userId: 'rex', tokenHash, remoteAddr: '', ...times })
  )
  const { status } = await rules.call('POST', '/v1/auth/logout', undefined, headersOf('ended'))
  if (status !== 204) throw new Error(`rex had no session: ${status}`)
}

const absent = (segment: string, kind: Kind): string => {
  if (kind === 'malformed') return "%27%20OR%20'1'='1%00%E2%80%AE"
  return segment === 'users' || segment === 'owners' ? 'no-one' : '01ARZ3NDEKTSV4RRFFQ69G5FAV'
}
