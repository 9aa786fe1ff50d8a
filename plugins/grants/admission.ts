// Applies grants to rules: decides whether a user may create a rule, and limits its targets. A single grant must cover
// client, protocol and all ports of a rule. The rule may use the targets of all grants that cover it.
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { type Admission, clientNotGranted, derivedField, type RuleCore } from '../rules/exports.ts'
import { Grant } from './entities.ts'
import { allows, formatTarget, parseTarget } from './targets.ts'
import { capability, key, type Match, Targets } from './wire.ts'

export const protocolNotGranted = defineCode('protocol_not_granted', 403, 5)
export const portOutsideGrant = defineCode('port_outside_grant', 403, 5)
export const targetNotGranted = defineCode('target_not_granted', 403, 5)
export const targetFilterUnsupported = defineCode('target_filter_unsupported_by_client', 422, 3)

export const admission: Admission = {
  errors: [clientNotGranted, protocolNotGranted, portOutsideGrant, targetNotGranted],
  async clients(userId, em) {
    const grants = await em.find(Grant, { userId }, { fields: ['clientId'] })
    const ids = grants.flatMap(({ clientId }) => clientId ?? [])
    return ids.length === grants.length ? ids : 'all'
  },
  async admit(rule, em) {
    admitByGrants(await em.find(Grant, { userId: rule.owner }), rule)
  }
}

/** Derives the target list of a rule from the grants that cover it. A rule without a list may use any target. */
export const grantTargets = derivedField({
  key,
  requires: { capability, refusal: targetFilterUnsupported },
  message: Targets,
  async derive(rules, em) {
    const bound = rules.filter(({ isExempt }) => !isExempt)
    if (bound.length === 0) return new Map()
    const owners = [...new Set(bound.map(({ owner }) => owner))]
    const grants = await em.find(Grant, { userId: { $in: owners } })
    const lists = bound.map(rule => [rule.id, allowedTargets(grants, rule)] as const)
    return new Map(lists.flatMap(([id, list]) => (list ? [[id, { allow: [...list] }]] : [])))
  }
})

type CheckedRule = Omit<RuleCore, 'id' | 'isExempt'>

const appliesTo = (grant: Grant, { owner, clientId }: CheckedRule): boolean =>
  grant.userId === owner && (grant.clientId == null || grant.clientId === clientId)

const coversPorts = ({ portFrom, portTo }: Grant, { listenFrom, listenTo }: CheckedRule): boolean =>
  portFrom <= listenFrom && listenTo <= portTo

export const covers = (grant: Grant, rule: CheckedRule): boolean =>
  appliesTo(grant, rule) && grant.protocols.includes(rule.protocol) && coversPorts(grant, rule)

/** Returns the union of the targets that the covering grants allow, or null for any target. */
function allowedTargets(grants: readonly Grant[], rule: CheckedRule): readonly Match[] | null {
  const covering = grants.filter(grant => covers(grant, rule))
  const lists = covering.flatMap(({ targets }) => (targets == null ? [] : [targets]))
  if (lists.length < covering.length) return null
  return [...new Set(lists.flat())].map(target => parseTarget(target, '/targets'))
}

/** Throws the error of the first condition that no grant meets. */
function admitByGrants(grants: readonly Grant[], rule: CheckedRule): void {
  const onClient = grants.filter(grant => appliesTo(grant, rule))
  if (onClient.length === 0)
    throw new Fault(clientNotGranted, `no grant of ${rule.owner} covers client ${rule.clientId}`)
  const protocolGrants = onClient.filter(({ protocols }) => protocols.includes(rule.protocol))
  if (protocolGrants.length === 0)
    throw new Fault(protocolNotGranted, `no grant of ${rule.owner} on this client is for ${rule.protocol}`)
  if (!protocolGrants.some(grant => coversPorts(grant, rule)))
    throw new Fault(
      portOutsideGrant,
      `no single ${rule.protocol} grant on this client covers ${formatPorts(rule)}`
    )
  admitTargets(allowedTargets(protocolGrants, rule), rule)
}

function admitTargets(list: readonly Match[] | null, { targets, listenFrom, listenTo }: CheckedRule): void {
  if (list === null) return
  const denied = targets.find(
    ({ host, port }) => !allows(list, { host, from: port, to: port + listenTo - listenFrom })
  )
  if (!denied) return
  const message = `no grant allows the target ${denied.host} port ${denied.port}; granted: ${list.map(formatTarget).join(', ')}`
  throw new Fault(targetNotGranted, message)
}

const formatPorts = ({ listenFrom, listenTo }: CheckedRule): string =>
  listenFrom === listenTo ? `port ${listenFrom}` : `ports ${listenFrom} to ${listenTo}`
