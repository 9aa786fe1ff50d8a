// A server with every plugin except `process`, a connected client, and resources of several users for ids in paths.
import type { Test } from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { User } from '../../kernel/identity/entities.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { isOnPostgres } from '../../kit/test-store.ts'
import { Session } from '../../plugins/auth/entities.ts'
import { type Deps, origin } from '../../plugins/auth/test/fixture.ts'
import { capability, Targets } from '../../plugins/grants/wire.ts'
import { type RulesFixture, rulesFixture } from '../../plugins/rules/test/fixture.ts'
import { messages, updateCapability } from '../../plugins/rules/wire.ts'
import { type Kind, relationAt, segmentsOf } from './access-table.ts'
import { type Caller, callers, password, resetUsers } from './callers.ts'
import { apiResources, canaryOf, storeResources, unknownId } from './resources.ts'

export interface AccessFixture extends RulesFixture {
  readonly edge: string // a client on which ada has a grant; its agent supports only rules and target filters
  readonly hidden: string // a client on which no user has a grant
  /** Restores a user to its state in callers.ts. */
  restore(userId: string): Promise<void>
  /** Returns a new number for names and ports. */
  next(): number
  endLeases(): Promise<unknown>
  /** Fills in ids of this kind. `fresh` creates resources for a request that changes them. Null: no such ids exist. */
  pathOf(path: string, caller: Caller, kind: Kind, resources: 'shared' | 'fresh'): Promise<string | null>
}

/** Creates a resource for this owner; the path segment names its type. Null: impossible for this caller. */
type Create = (segment: string, owner: string, caller: Caller) => Promise<string | null>

export async function accessFixture(t: Test): Promise<AccessFixture> {
  const rules = await rulesFixture(t, {
    plugins: Object.keys(builtin).filter(name => name !== 'process'), // needs a real clock
    keys: { operator_http_public_origin: origin, trusted_proxies: ['127.0.0.1'] }
  })
  const deps = rules.server.depsOf('auth') as Deps
  // The thousands of stored decisions need not survive a power failure.
  if (!isOnPostgres) await deps.store.read(em => em.execute('pragma synchronous = off'))
  const hash = await deps.hashPool.run(argon => argon.hash(password))
  let count = 0
  const next = (): number => ++count
  const resources = { ...storeResources(deps, next), ...apiResources(rules, next) }
  const { client, grant, endLeases } = resources
  const clients = {
    edge: await client('edge'),
    depot: await client('depot'),
    hidden: await client(canaryOf('none'))
  }
  await rules.connect(clients.edge, {
    clock: rules.clock, // by real time it would miss the heartbeats of the server
    capabilities: { [capability.id]: capability.since, [updateCapability.id]: updateCapability.since },
    messages: [...messages, Targets]
  })

  await resetUsers(deps, hash)
  await demoteBoss(rules, deps)
  await endSessionOfRex(rules, deps)
  await grant('ada', clients.edge)
  await grant('ada', clients.depot)
  const grantOfGus = await grant('gus', clients.edge)
  const ruleOfGus = await createRuleOfGus(rules, clients.edge, 10_000 + next())
  await rules.call('DELETE', `/v1/grants/${grantOfGus}`)

  return {
    ...rules,
    ...clients,
    next,
    endLeases,
    pathOf: pathFiller(creator(resources, clients, ruleOfGus), resources.user),
    restore: userId => resetUsers(deps, hash, [userId])
  }
}

type Resources = ReturnType<typeof storeResources> & ReturnType<typeof apiResources>
type Clients = Readonly<Record<'edge' | 'depot' | 'hidden', string>>

/** `ruleOfGus`: the rule that the caller `ungranted` once owned. */
function creator(resources: Resources, { edge, depot, hidden }: Clients, ruleOfGus: string): Create {
  async function clientOf({ role, name }: Caller, isOwn: boolean): Promise<string | null> {
    if (role !== 'user') return resources.client(canaryOf('none'))
    if (!isOwn) return hidden
    return name === 'stranger' || name === 'demoted' ? null : depot
  }

  async function ruleOf(owner: string, { name }: Caller, isOwn: boolean): Promise<string | null> {
    if (isOwn && name === 'ungranted') return ruleOfGus
    return isOwn && name === 'stranger' ? null : resources.rule(owner, edge)
  }

  return async (segment, owner, caller) => {
    const isOwn = owner === caller.userId
    if (segment === 'users' || segment === 'owners') return owner
    if (segment === 'credentials') return resources.credential(owner)
    if (segment === 'sessions') return resources.session(owner)
    if (segment === 'grants') return resources.grant('zoe', edge) // a grant of the caller would give it more rights
    if (segment === 'client-enrollments') return resources.enrollment()
    if (segment === 'enrollment-keys') return resources.enrollmentKey()
    if (segment === 'source-lists') return resources.sourceList()
    if (segment === 'bans') return resources.ban(hidden)
    if (segment === 'apply-leases') {
      await resources.endLeases()
      return resources.lease(isOwn ? { ...caller.headers } : { authorization: 'Bearer svct_zoe' })
    }
    if (segment === 'links') {
      const rule = await ruleOf(owner, caller, isOwn)
      return rule && resources.link(rule, edge, await resources.client(canaryOf(owner)), owner)
    }
    return segment === 'rules' ? ruleOf(owner, caller, isOwn) : clientOf(caller, isOwn)
  }
}

/** Returns the same resource for the same arguments. */
function cached(create: Create): Create {
  const created = new Map<string, Promise<string | null>>()
  return (segment, owner, caller) => {
    const key = `${segment} ${owner} ${caller.name}`
    const id = created.get(key) ?? create(segment, owner, caller)
    created.set(key, id)
    return id
  }
}

function pathFiller(create: Create, createUser: () => Promise<string>): AccessFixture['pathOf'] {
  const createOnce = cached(create)
  return async (path, caller, kind, resources) => {
    const segments = segmentsOf(path)
    const [idOf, otherUser] = resources === 'fresh' ? [create, await createUser()] : [createOnce, 'zoe']
    const ownUser = caller.userId ?? 'ada'
    let filled = path
    for (const [at, segment] of segments.entries()) {
      const relation = relationAt(kind, at, segments.length)
      const owner = relation === 'foreign' || kind === 'foreign' ? otherUser : ownUser
      const id = relation === 'missing' ? unknownId(segment, kind) : await idOf(segment, owner, caller)
      if (id === null) return null
      filled = filled.replace(/:\w+/, id)
    }
    return filled
  }
}

async function createRuleOfGus(rules: RulesFixture, client: string, listen_port: number): Promise<string> {
  const body = { client, listen_port, targets: [{ host: '10.0.0.1', port: 80 }] }
  const headers = { authorization: 'Bearer svct_gus' }
  return (await rules.call<{ rule_id: string }>('POST', '/v1/rules', body, headers)).body.rule_id
}

const headersOf = (name: string): Record<string, string> => ({
  ...callers.find(caller => caller.name === name)?.headers
})

/** Demotes boss after boss has used a session as a superadmin. */
async function demoteBoss(rules: RulesFixture, { store }: Deps): Promise<void> {
  await store.change(em => em.nativeUpdate(User, { id: 'boss' }, { role: 'superadmin' }))
  const { status } = await rules.call('GET', '/v1/users', undefined, headersOf('demoted'))
  if (status !== 200) throw new Error(`boss was no superadmin: ${status}`)
  await rules.call('PATCH', '/v1/users/boss', { role: 'user' })
}

/** Ends a valid session of rex. */
async function endSessionOfRex(rules: RulesFixture, { store, clock }: Deps): Promise<void> {
  const times = {
    createdAt: clock.now(),
    lastSeenAt: clock.now(),
    freshAt: clock.now(),
    factors: ['password']
  }
  const tokenHash = hashOf('session-of-rex')
  await store.change(em =>
    em.insert(Session, { id: newId(), userId: 'rex', tokenHash, remoteAddr: '', method: 'session', ...times })
  )
  const { status } = await rules.call('POST', '/v1/auth/logout', undefined, headersOf('ended'))
  if (status !== 204) throw new Error(`rex had no session: ${status}`)
}
