// The rule field `clients` places a rule on a group. Only the server knows it: each client has a member like any other rule.
import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, type ErrorCode, Fault } from '../../kernel/base/errors.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients as ClientsService } from '../clients/exports.ts'
import { managesAll } from '../http/exports.ts'
import {
  clientNotGranted,
  type FieldCall,
  type LoadedField,
  type RuleCore,
  type Rules,
  ruleFieldSlot
} from '../rules/exports.ts'
import { GroupClients } from './entities.ts'
import { type Clients, invalidClients, key, maxClients, parseClients, schema } from './group-clients.ts'

export interface Deps extends Kernel {
  readonly clients: ClientsService
  readonly rules: Pick<Rules, 'choosableClients'>
}

const own = [invalidClients, clientNotFound, clientNotGranted]

export const clientsField = ruleFieldSlot.fillWith(
  (deps: Deps): LoadedField => ({
    deps,
    key,
    change: 'hot',
    body: schema,
    unlessGiven: 'stays',
    /** A getter, because commands read the field without services. */
    get errors() {
      return [...own, ...deps.clients.filterErrors()]
    },
    parse(given: Clients) {
      const clients = parseClients(given)
      if ('selector' in clients) inField(() => deps.clients.requireFilter(clients))
      return clients
    },
    check: (value: Clients, rule, em, { principal }: FieldCall) =>
      requireChoosable(deps, value, { rule, managesAll: managesAll(principal) }, em),
    async save(rule, clients: Clients, em) {
      await em.upsert(GroupClients, { rule, clients })
    },
    async clear(rule, em) {
      await em.nativeDelete(GroupClients, { rule })
    },
    async load(ids, em) {
      const rows = await em.find(GroupClients, { rule: { $in: [...ids] } })
      return new Map(rows.map(({ rule, clients }) => [rule, clients]))
    },
    clientsOf: (value: Clients, among, em) => listClients(deps, value, among, em)
  })
)

/** Returns the ids of the clients in the group, and at most one id more than allowed. */
async function listClients(
  { clients }: Pick<Deps, 'clients'>,
  value: Clients,
  among: readonly string[] | null,
  em: EntityManager
): Promise<readonly string[]> {
  if ('selector' in value) return clients.matching(value, { among, take: maxClients + 1 }, em)
  const wanted = among ? value.ids.filter(id => among.includes(id)) : value.ids
  return findExisting(wanted, em)
}

const findExisting = async (ids: readonly string[], em: EntityManager): Promise<string[]> =>
  (await em.find(Client, { id: { $in: [...ids] } }, { fields: ['id'], orderBy: { id: 'asc' } })).map(
    ({ id }) => id
  )

interface Edited {
  readonly rule: RuleCore
  readonly managesAll: boolean // the caller
}

/**
 * Throws for ids of clients that the rule must not choose. Only callers who see all clients learn if such a client exists. A client that is
 * deleted later only leaves the group.
 */
async function requireChoosable(
  { rules }: Pick<Deps, 'rules'>,
  value: Clients,
  { rule, managesAll }: Edited,
  em: EntityManager
): Promise<void> {
  if ('selector' in value) return
  const known = new Set(await findExisting(value.ids, em))
  const unknown = value.ids.filter(id => !known.has(id))
  if (managesAll && unknown.length > 0)
    throw refusal(clientNotFound, unknown, names => `there is no client ${names}`)
  const choosable = await rules.choosableClients(rule, em)
  const refused = choosable === 'all' ? unknown : value.ids.filter(id => !known.has(id) || !choosable.has(id))
  if (refused.length === 0) return
  throw refusal(clientNotGranted, refused, names =>
    managesAll
      ? `no grant of ${rule.owner} covers client ${names}`
      : `you are not allowed to place rules on client ${names}`
  )
}

function refusal(code: ErrorCode, ids: readonly string[], messageOf: (names: string) => string): Fault {
  const names = `${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ` and ${ids.length - 3} more` : ''}`
  return new Fault(code, messageOf(names), { details: { field: `/${key}/ids`, client_ids: ids } })
}

/** Renames the field in a fault of a list parameter to the field of a rule. */
function inField(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { errorCode, message, details } = error
    const field = `/${key}/selector`
    throw new Fault(errorCode, message.replace(/^\/selector/, field), {
      details: { ...details, field },
      cause: error
    })
  }
}
