// Applies grants to rules: decides whether a user may create a rule, and limits its targets. A single grant must cover
// client, protocol and all ports of a rule. The rule may use the targets of all grants that cover it.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { namedSlot, visibleSlot } from '../clients/exports.ts'
import {
  type Admission,
  admitSlot,
  clientNotGranted,
  derivedField,
  exitTargetsSlot,
  pathDenialSlot,
  type RuleCore
} from '../rules/exports.ts'
import {
  allowedExitTargets,
  allowedTargets,
  type CheckedRule,
  coversPorts,
  exitLists,
  isCovered,
  mayListen,
  pathClients,
  uncoveredClients
} from './coverage.ts'
import { Grant, LostRule } from './entities.ts'
import { allows, formatTarget } from './targets.ts'
import { capability, key, Targets } from './wire.ts'

const protocolNotGranted = defineCode('protocol_not_granted', 403, 5)
const portOutsideGrant = defineCode('port_outside_grant', 403, 5)
const exitNotGranted = defineCode('exit_not_granted', 403, 5)
const targetNotGranted = defineCode('target_not_granted', 403, 5)
const targetFilterUnsupported = defineCode('target_filter_unsupported_by_client', 422, 3)

const refusals = [protocolNotGranted, portOutsideGrant, exitNotGranted, targetNotGranted]
export const admissionCodes = [...refusals, targetFilterUnsupported]

const admission: Admission = {
  errors: [clientNotGranted, ...refusals],
  clients: (userId, em) => grantedClients('listen', userId, em),
  async admit(rule, em, textOf) {
    const grants = await em.find(Grant, { userId: rule.owner })
    admitByGrants(grants, rule, { textOf, unknown: await unknownClient(rule, em) })
  }
}

/** Returns the clients of the user's grants for this use. */
async function grantedClients(
  use: Grant['use'],
  userId: string,
  em: EntityManager
): Promise<readonly string[] | 'all'> {
  const grants = await em.find(Grant, { userId, use }, { fields: ['clientId'] })
  const ids = grants.flatMap(({ clientId }) => clientId ?? [])
  return ids.length === grants.length ? ids : 'all'
}

/** Returns a part of a path that names no client, or null. A grant for all clients does not cover it. */
async function unknownClient(rule: CheckedRule, em: EntityManager): Promise<string | null> {
  const ids = pathClients(rule)
  if (ids.length === 0) return null
  const found = await em.find(Client, { id: { $in: ids } }, { fields: ['id'] })
  const known = new Set(found.map(({ id }) => id))
  return ids.find(id => !known.has(id)) ?? null
}

/** True for a target that the client of the rule dials. */
const isDialedHere = ({ path = [] }: CheckedRule['targets'][number]): boolean => path.length === 0

/**
 * Derives the target list of a rule from the listen grants that cover it. A rule without a list may use any target. The list
 * does not apply to targets with a path: their exits have lists. Keeps a rule closed that a source left without a grant.
 */
const grantTargets = derivedField({
  key,
  requires: { capability, refusal: targetFilterUnsupported },
  message: Targets,
  async derive(rules, em) {
    const bound = rules.filter(rule => !rule.isExempt)
    const grants = await grantsOfOwners(bound, em)
    const uncovered = bound.filter(rule => !isCovered(grants, rule))
    const lost = await lostAmong(
      uncovered.map(({ id }) => id),
      em
    )
    return new Map(
      bound.flatMap(rule => {
        if (lost.has(rule.id)) return [[rule.id, { allow: [], lost: true }]]
        const list = rule.targets.some(isDialedHere) ? allowedTargets(grants, rule) : null
        return list ? [[rule.id, { allow: [...list] }]] : []
      })
    )
  }
})

/** Derives the target lists of the exits of a rule from the exit grants that cover them. */
const exitTargets = exitTargetsSlot.fill(async (rules, em) => {
  const grants = await grantsOfOwners(rules, em)
  return new Map(rules.map(rule => [rule.id, exitLists(grants, rule)]))
})

const pathDenial = pathDenialSlot.fill(async (rule, em) =>
  uncoveredClients(await grantsOfOwners([rule], em), rule)
)

export const admissionFills = [
  admitSlot.fill(admission),
  grantTargets,
  exitTargets,
  pathDenial,
  visibleSlot.fill(admission.clients),
  namedSlot.fill((userId, em) => grantedClients('exit', userId, em))
]

async function lostAmong(ids: readonly string[], em: EntityManager): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  return new Set((await em.find(LostRule, { rule: { $in: [...ids] } })).map(({ rule }) => rule))
}

const grantsOfOwners = async (
  rules: readonly Pick<RuleCore, 'owner'>[],
  em: EntityManager
): Promise<readonly Grant[]> =>
  rules.length === 0 ? [] : em.find(Grant, { userId: { $in: [...new Set(rules.map(rule => rule.owner))] } })

/** Throws the error of the first condition that no grant meets. */
function admitByGrants(
  grants: readonly Grant[],
  rule: CheckedRule,
  { textOf, unknown }: { readonly textOf: (clientId: string) => string; readonly unknown: string | null }
): void {
  const { owner, clientId, protocol } = rule
  const onClient = grants.filter(grant => mayListen(grant, rule))
  if (onClient.length === 0)
    throw new Fault(clientNotGranted, `no grant of ${owner} covers client ${clientId}`)
  const protocolGrants = onClient.filter(({ protocols }) => protocols.includes(protocol))
  if (protocolGrants.length === 0)
    throw new Fault(protocolNotGranted, `no grant of ${owner} on this client is for ${protocol}`)
  if (!protocolGrants.some(grant => coversPorts(grant, rule)))
    throw new Fault(
      portOutsideGrant,
      `no single ${protocol} grant on this client covers ${formatPorts(rule)}`
    )
  const via = uncoveredClients(grants, rule)[0] ?? unknown
  if (via !== null) {
    const message = `no exit grant of ${owner} covers a client in via for ${protocol} from this client`
    throw new Fault(exitNotGranted, message, { details: { via: textOf(via) } })
  }
  admitTargets(grants, rule)
}

function admitTargets(grants: readonly Grant[], rule: CheckedRule): void {
  const { targets, listenFrom, listenTo } = rule
  const own = allowedTargets(grants, rule)
  for (const { host, port, path } of targets) {
    const exit = path?.at(-1)
    const list = exit === undefined ? own : allowedExitTargets(grants, rule, exit)
    if (list === null || allows(list, { host, from: port, to: port + listenTo - listenFrom })) continue
    const message = `no grant allows the target ${host} port ${port}; granted: ${list.map(formatTarget).join(', ')}`
    throw new Fault(targetNotGranted, message)
  }
}

const formatPorts = ({ listenFrom, listenTo }: CheckedRule): string =>
  listenFrom === listenTo ? `port ${listenFrom}` : `ports ${listenFrom} to ${listenTo}`
