// The rule field `clients`: it places a rule on a group. The server alone knows it: each client has a rule like any other.
import type { EntityManager } from '@mikro-orm/sql'
import { clientNotFound, Fault } from '../../kernel/base/errors.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients as ClientsService } from '../clients/exports.ts'
import { clientNotGranted, type FieldCall, type LoadedField, ruleFieldSlot } from '../rules/exports.ts'
import { GroupClients } from './entities.ts'
import { type Clients, invalidClients, key, maxClients, parseClients, schema } from './group-clients.ts'

export interface Deps extends Kernel {
  readonly clients: ClientsService
}

const own = [invalidClients, clientNotFound, clientNotGranted]

export const clientsField = ruleFieldSlot.fillWith(
  (deps: Deps): LoadedField => ({
    deps,
    key,
    change: 'hot',
    body: schema,
    unlessGiven: 'stays',
    updateEmpty: invalidClients,
    /** A command, which has no services, reads the field, too. */
    get errors() {
      return [...own, ...deps.clients.filterErrors()]
    },
    parse(given: Clients) {
      const clients = parseClients(given)
      if ('selector' in clients) inField(() => deps.clients.requireFilter(clients))
      return clients
    },
    check: (value: Clients, _rule, em, { principal }: FieldCall) => requireKnown(value, principal.role, em),
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
    clientsOf: (value: Clients, among, em) => membersOf(deps, value, among, em)
  })
)

/** Returns the ids of the clients that are in the group now; of one that is too large, one more than may be. */
async function membersOf(
  { clients }: Pick<Deps, 'clients'>,
  value: Clients,
  among: readonly string[] | null,
  em: EntityManager
): Promise<readonly string[]> {
  if ('selector' in value) return clients.matching(value, { among, take: maxClients + 1 }, em)
  const wanted = among ? value.ids.filter(id => among.includes(id)) : value.ids
  return existing(wanted, em)
}

const existing = async (ids: readonly string[], em: EntityManager): Promise<string[]> =>
  (await em.find(Client, { id: { $in: [...ids] } }, { fields: ['id'], orderBy: { id: 'asc' } })).map(
    ({ id }) => id
  )

/** A client that was deleted since leaves a group; one that never was is a mistake. */
async function requireKnown(value: Clients, role: string, em: EntityManager): Promise<void> {
  if ('selector' in value) return
  const known = new Set(await existing(value.ids, em))
  const unknown = value.ids.filter(id => !known.has(id))
  if (unknown.length === 0) return
  const details = { field: `/${key}/ids`, client_ids: unknown }
  const named = `${unknown.slice(0, 3).join(', ')}${unknown.length > 3 ? ` and ${unknown.length - 3} more` : ''}`
  if (role === 'superadmin') throw new Fault(clientNotFound, `there is no client ${named}`, { details })
  throw new Fault(clientNotGranted, `you may not place rules on a client ${named}`, { details })
}

/** Names the field as it is in a rule in what a parameter of a list is refused with. */
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
