// Resolves the filter of a query for its caller: the clients to ask, and what each of them selects.
import type { EntityManager } from '@mikro-orm/sql'
import type { Principal } from '../../kernel/http/principal.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Capability } from '../../kernel/wire/message.ts'
import { seesAll } from '../http/exports.ts'
import { connectionPathsSlot, toProtocol } from '../rules/exports.ts'
import type { ResolvedFilter, Services } from './client-query.ts'
import { type Filter, parseTarget } from './schema.ts'
import { maxPathWords, pathCapability, type Selection } from './wire.ts'

/** Users get only connections of rules they own. */
export type ResolveFilter = (filter: Filter, caller: Principal, em: EntityManager) => Promise<ResolvedFilter>

export function openFilterResolver(services: Services): ResolveFilter {
  const { control, filled } = services

  const clientsThatCan = (needed: Capability): ReadonlySet<string> =>
    new Set(control.peers.all().flatMap(peer => (peer.can(needed) ? [peer.clientId] : [])))

  /** Returns words; a path must have one of them. null: any path, or none. */
  async function pathWords(filter: Filter, caller: Principal, em: EntityManager) {
    const [paths] = filled(connectionPathsSlot)
    const given = paths && Reflect.get(filter, paths.value.parameter)
    return typeof given === 'string' ? (paths?.value.words(given, caller, em) ?? null) : null
  }

  return async function resolveFilter(
    filter: Filter,
    caller: Principal,
    em: EntityManager
  ): Promise<ResolvedFilter> {
    const { client, rule_id, owner } = filter
    const words = await pathWords(filter, caller, em)
    const members = rule_id === undefined ? null : await services.rules.listMembers(rule_id, em)
    const memberByClient = members && new Map(members.map(({ id, clientId }) => [clientId, id]))
    const visibleOwner = seesAll(caller) ? owner : caller.userId
    const isOthers = owner !== undefined && owner !== visibleOwner
    const named = await clientIds(services, { client, owner: visibleOwner }, em)
    const withMember = memberByClient && new Set(memberByClient.keys())
    const selection = {
      ...toSelection(filter, visibleOwner),
      path_words: words?.slice(0, maxPathWords) ?? []
    }
    const isNone = isOthers || words?.length === 0
    const able = words && clientsThatCan(pathCapability)
    return {
      clients: isNone ? new Set() : intersect(intersect(named, withMember), able),
      selectionOn(clientId) {
        const member = memberByClient?.get(clientId)
        return member === undefined ? selection : { ...selection, rule_id: member }
      }
    }
  }
}

/** Returns the common ids of two sets; null means all. */
const intersect = (
  a: ReadonlySet<string> | null,
  b: ReadonlySet<string> | null
): ReadonlySet<string> | null => (a && b ? a.intersection(b) : (a ?? b))

function toSelection({ source, target, protocol }: Filter, owner: string | undefined): Selection {
  const at = target === undefined ? null : parseTarget(target)
  return {
    ids: [],
    path_words: [],
    ...(owner !== undefined && { owner }),
    ...(protocol !== undefined && { protocol: toProtocol(protocol) }),
    ...(source !== undefined && { source }),
    ...(at && { target: at.address, ...(at.port !== undefined && { target_port: at.port }) })
  }
}

interface Where {
  readonly client: string | undefined
  readonly owner: string | undefined
}

/** Returns the clients that may have such rules; null: all. */
async function clientIds(
  { rules }: Pick<Services, 'rules'>,
  { client, owner }: Where,
  em: EntityManager
): Promise<ReadonlySet<string> | null> {
  const all: (readonly string[])[] = []
  if (owner !== undefined) all.push(await rules.clientsOfOwner(owner, em))
  if (client !== undefined)
    all.push((await em.find(Client, { $or: [{ id: client }, { name: client }] })).map(({ id }) => id))
  const [first, ...others] = all.map(ids => new Set(ids))
  return first === undefined ? null : others.reduce((left, ids) => left.intersection(ids), first)
}
