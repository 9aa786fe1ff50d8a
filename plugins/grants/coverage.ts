// Which grants stand behind a rule. One grant must cover it whole; its dials may go where any of these allows.
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import type { RuleCore } from '../rules/exports.ts'
import { clientNotGranted } from '../rules/exports.ts'
import type { Grant } from './entities.ts'
import { allows, parseTarget, spell } from './targets.ts'
import type { Match } from './wire.ts'

export const protocolNotGranted = defineCode('protocol_not_granted', 403, 5)
export const portOutsideGrant = defineCode('port_outside_grant', 403, 5)
export const targetNotGranted = defineCode('target_not_granted', 403, 5)

type Claim = Omit<RuleCore, 'id' | 'placedBySuperadmin'>

const isFor = (grant: Grant, { owner, clientId }: Claim): boolean =>
  grant.userId === owner && (grant.clientId == null || grant.clientId === clientId)

const holdsPorts = ({ portFrom, portTo }: Grant, { listenFrom, listenTo }: Claim): boolean =>
  portFrom <= listenFrom && listenTo <= portTo

export const covers = (grant: Grant, rule: Claim): boolean =>
  isFor(grant, rule) && grant.protocols.includes(rule.protocol) && holdsPorts(grant, rule)

/** Where the rule may go by these grants, of which one must cover it; null: anywhere. */
export function listOf(grants: readonly Grant[], rule: Claim): readonly Match[] | null {
  const covering = grants.filter(grant => covers(grant, rule))
  const lists = covering.flatMap(({ targets }) => (targets == null ? [] : [targets]))
  if (lists.length < covering.length) return null
  return [...new Set(lists.flat())].map(target => parseTarget(target, '/targets'))
}

/** Throws the first refusal. */
export function admit(grants: readonly Grant[], rule: Claim): void {
  const onClient = grants.filter(grant => isFor(grant, rule))
  if (onClient.length === 0)
    throw new Fault(clientNotGranted, `no grant of ${rule.owner} covers client ${rule.clientId}`)
  const ofProtocol = onClient.filter(({ protocols }) => protocols.includes(rule.protocol))
  if (ofProtocol.length === 0)
    throw new Fault(protocolNotGranted, `no grant of ${rule.owner} on this client is for ${rule.protocol}`)
  if (!ofProtocol.some(grant => holdsPorts(grant, rule)))
    throw new Fault(
      portOutsideGrant,
      `no single ${rule.protocol} grant on this client holds ${portsOf(rule)}`
    )
  admitTargets(listOf(ofProtocol, rule), rule)
}

function admitTargets(list: readonly Match[] | null, { targets, listenFrom, listenTo }: Claim): void {
  if (list === null) return
  const denied = targets.find(
    ({ host, port }) => !allows(list, { host, from: port, to: port + listenTo - listenFrom })
  )
  if (!denied) return
  const message = `no grant lets ${denied.host} port ${denied.port} be a target; granted: ${list.map(spell).join(', ')}`
  throw new Fault(targetNotGranted, message)
}

const portsOf = ({ listenFrom, listenTo }: Claim): string =>
  listenFrom === listenTo ? `port ${listenFrom}` : `ports ${listenFrom} to ${listenTo}`
