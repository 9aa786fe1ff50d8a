// The server half of `via`: the path of each target of a rule.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { clientNotFound, defineCode, Fault } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type Clients, clientNameAmbiguous } from '../../clients/exports.ts'
import { managesAll } from '../../http/exports.ts'
import {
  agentOrder,
  type ClientScope,
  type FieldCall,
  fieldUnsupported,
  findClient,
  type GivenPlace,
  type RuleCore,
  ruleField,
  targetField
} from '../../rules/exports.ts'
import { targetVia, via } from '../fields.ts'
import { maxPath } from '../wire.ts'
import { targetKey } from './target-key.ts'

export interface Deps extends Kernel {
  readonly clients: Pick<Clients, 'visibleIds'>
}

type Given = Static<typeof via.body>
type Path = readonly string[]

export const invalidVia = defineCode('validation.via', 400, 3)

const errors = [invalidVia, clientNotFound, clientNameAmbiguous]

const ruleVia = ruleField({
  ...via,
  change: 'frozen',
  journalKind: 'target',
  errors: [...errors, fieldUnsupported],
  parse: value => [...parsePath(value, `/${via.key}`)],
  resolve: (value, place, em, call: FieldCall<Deps>) => findClients(value, place, em, call),
  async check(_, rule) {
    refuseDatagrams(rule)
  },
  encode: (_, { targets }) => ({
    paths: agentOrder({ targets }).flatMap((index, target) => {
      const { [index]: one } = targets
      const [next, ...others] = one?.path ?? []
      return one && next !== undefined ? [{ target, next, key: targetKey(one), others }] : []
    })
  })
})

const viaOfTargets = targetField({
  ...targetVia,
  sentAs: via.key,
  errors: [...errors, fieldUnsupported],
  parse(value, { field }, body) {
    const path = value === null ? null : [...parsePath(value, field)]
    return isDeepStrictEqual(path, pathOfRule(body)) ? undefined : path
  },
  path: (value, values) => (value === undefined ? pathOfRule(values) : value) as Path | null,
  async resolve(value, place, em, call: FieldCall<Deps>) {
    return value === null ? null : findClients(value, place, em, call)
  },
  async check(_, rule) {
    refuseDatagrams(rule)
  }
})

export const viaFields = [ruleVia, viaOfTargets]

const toPath = (value: Given): Path => (typeof value === 'string' ? [value] : value)

/** Returns the path of targets without their own, in a request or among the values of a rule. */
function pathOfRule(values: Readonly<Record<string, unknown>>): Path | null {
  const value = (values[via.key] ?? null) as Given | null
  return value === null ? null : toPath(value)
}

function parsePath(value: Given, field: string): Path {
  const path = toPath(value)
  if (path.length === 0 || path.includes('')) refuse(field, 'empty', 'names no client; give 1 to 3, or null')
  if (path.length > maxPath)
    refuse(field, 'too_long', `names ${path.length} clients; ${maxPath} are the most`)
  if (new Set(path).size < path.length) refuse(field, 'repeated', 'names a client twice')
  return path
}

/**
 * Returns the ids of the clients. Operators and superadmins learn if one does not exist. For others, text that names no client that they
 * may see stays: no grant covers it, so the answer is the same whether the client exists or not.
 */
async function findClients(
  value: Given,
  { field, clientId, nameClient }: GivenPlace,
  em: EntityManager,
  { deps, principal }: FieldCall<Deps>
): Promise<string[]> {
  const visible: ClientScope = managesAll(principal)
    ? 'all'
    : toScope(await deps.clients.visibleIds(principal.userId, em))
  const ids: string[] = []
  for (const text of toPath(value)) {
    const found = await findClient(text, em, visible)
    if (!found && managesAll(principal))
      throw new Fault(clientNotFound, `${field} names client ${text}, which does not exist`, {
        details: { field }
      })
    if (found) nameClient(found.id, text)
    ids.push(found?.id ?? text)
  }
  if (ids.includes(clientId)) refuse(field, 'self', "names the rule's own client; leave it out")
  if (new Set(ids).size < ids.length) refuse(field, 'repeated', 'names a client twice, by id and by name')
  return ids
}

const toScope = (ids: readonly string[] | 'all'): ClientScope => (ids === 'all' ? ids : new Set(ids))

function refuse(field: string, reason: string, why: string): never {
  throw new Fault(invalidVia, `${field} ${why}`, { details: { field, reason } })
}

/** No agent carries datagrams over links. */
function refuseDatagrams({ protocol, clientId }: Pick<RuleCore, 'protocol' | 'clientId'>): void {
  if (protocol !== 'udp' || clientId === '') return // members of a group rule are refused
  const message = 'no agent supports link.datagram: a UDP rule cannot have a path'
  throw new Fault(fieldUnsupported, message, { details: { field: via.key, client_id: clientId } })
}
