// Which grants cover a rule. One grant must cover its client, protocol and all ports; its targets may be those of any
// grant that does.
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import type { RuleCore } from '../rules/exports.ts'
import { clientNotGranted } from '../rules/exports.ts'
import type { Grant } from './entities.ts'
import { allows, formatTarget, parseTarget } from './targets.ts'
import type { Match } from './wire.ts'

export const protocolNotGranted = defineCode('protocol_not_granted', 403, 5)
export const portOutsideGrant = defineCode('port_outside_grant', 403, 5)
export const targetNotGranted = defineCode('target_not_granted', 403, 5)

type CheckedRule = Omit<RuleCore, 'id' | 'placedBySuperadmin'>

const isFor = (grant: Grant, { owner, clientId }: CheckedRule): boolean =>
  grant.userId === owner && (grant.clientId == null || grant.clientId === clientId)

const coversPorts = ({ portFrom, portTo }: Grant, { listenFrom, listenTo }: CheckedRule): boolean =>
  portFrom <= listenFrom && listenTo <= portTo

export const covers = (grant: Grant, rule: CheckedRule): boolean =>
  isFor(grant, rule) && grant.protocols.includes(rule.protocol) && coversPorts(grant, rule)

/** Returns the targets that the covering grants allow together, or null for any target. */
export function allowedTargets(grants: readonly Grant[], rule: CheckedRule): readonly Match[] | null {
  const covering = grants.filter(grant => covers(grant, rule))
  const lists = covering.flatMap(({ targets }) => (targets == null ? [] : [targets]))
  if (lists.length < covering.length) return null
  return [...new Set(lists.flat())].map(target => parseTarget(target, '/targets'))
}

/** Throws the code of the first condition that no grant meets. */
export function admit(grants: readonly Grant[], rule: CheckedRule): void {
  const onClient = grants.filter(grant => isFor(grant, rule))
  if (onClient.length === 0)
    throw new Fault(clientNotGranted, `no grant of ${rule.owner} covers client ${rule.clientId}`)
  const ofProtocol = onClient.filter(({ protocols }) => protocols.includes(rule.protocol))
  if (ofProtocol.length === 0)
    throw new Fault(protocolNotGranted, `no grant of ${rule.owner} on this client is for ${rule.protocol}`)
  if (!ofProtocol.some(grant => coversPorts(grant, rule)))
    throw new Fault(
      portOutsideGrant,
      `no single ${rule.protocol} grant on this client holds ${portsOf(rule)}`
    )
  admitTargets(allowedTargets(ofProtocol, rule), rule)
}

function admitTargets(list: readonly Match[] | null, { targets, listenFrom, listenTo }: CheckedRule): void {
  if (list === null) return
  const denied = targets.find(
    ({ host, port }) => !allows(list, { host, from: port, to: port + listenTo - listenFrom })
  )
  if (!denied) return
  const message = `no grant lets ${denied.host} port ${denied.port} be a target; granted: ${list.map(formatTarget).join(', ')}`
  throw new Fault(targetNotGranted, message)
}

const portsOf = ({ listenFrom, listenTo }: CheckedRule): string =>
  listenFrom === listenTo ? `port ${listenFrom}` : `ports ${listenFrom} to ${listenTo}`
