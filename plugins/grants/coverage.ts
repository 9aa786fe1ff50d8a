// Decides which grants cover a rule: one listen grant on its client, and an exit grant for each client of its paths.
import { exitsOf, type RuleCore } from '../rules/exports.ts'
import type { Grant } from './entities.ts'
import { parseTarget } from './targets.ts'
import type { Match } from './wire.ts'

/** The part of a rule that grants limit. */
export type CheckedRule = Pick<
  RuleCore,
  'owner' | 'clientId' | 'protocol' | 'listenFrom' | 'listenTo' | 'targets'
>

const isFor = (grant: Grant, owner: string, clientId: string): boolean =>
  grant.userId === owner && (grant.clientId == null || grant.clientId === clientId)

/** True for a listen grant on the client of the rule. */
export const mayListen = (grant: Grant, { owner, clientId }: CheckedRule): boolean =>
  grant.use === 'listen' && isFor(grant, owner, clientId)

export const coversPorts = ({ portFrom, portTo }: Grant, { listenFrom, listenTo }: CheckedRule): boolean =>
  portFrom <= listenFrom && listenTo <= portTo

/** True for a listen grant that covers client, protocol and all ports of the rule. */
export const covers = (grant: Grant, rule: CheckedRule): boolean =>
  mayListen(grant, rule) && grant.protocols.includes(rule.protocol) && coversPorts(grant, rule)

/** True for an exit grant that lets the rule lead through the client. */
export const coversExit = (grant: Grant, rule: CheckedRule, clientId: string): boolean =>
  grant.use === 'exit' &&
  isFor(grant, rule.owner, clientId) &&
  grant.protocols.includes(rule.protocol) &&
  (grant.entries == null || grant.entries.includes(rule.clientId))

/** Returns the clients of all paths of the rule. */
export const pathClients = ({ targets }: Pick<RuleCore, 'targets'>): string[] => [
  ...new Set(targets.flatMap(({ path = [] }) => path))
]

/** Returns the clients of the paths that no exit grant covers. */
export const uncoveredClients = (grants: readonly Grant[], rule: CheckedRule): string[] =>
  pathClients(rule).filter(id => !grants.some(grant => coversExit(grant, rule, id)))

/** True if a grant covers the rule, and others each client of its paths. */
export const isCovered = (grants: readonly Grant[], rule: CheckedRule): boolean =>
  grants.some(grant => covers(grant, rule)) && uncoveredClients(grants, rule).length === 0

/** Returns the targets that the client of the rule may dial, or null for any target. */
export const allowedTargets = (grants: readonly Grant[], rule: CheckedRule): readonly Match[] | null =>
  unionOf(grants.filter(grant => covers(grant, rule)))

/** Returns the targets that the last client of a path may dial, or null for any target. */
export const allowedExitTargets = (
  grants: readonly Grant[],
  rule: CheckedRule,
  clientId: string
): readonly Match[] | null => unionOf(grants.filter(grant => coversExit(grant, rule, clientId)))

/** Returns the lists of the exits that have one, by client id. A rule that grants no longer cover has empty lists. */
export function exitLists(
  grants: readonly Grant[],
  rule: CheckedRule
): ReadonlyMap<string, readonly Match[]> {
  const mayDial = isCovered(grants, rule)
  return new Map(
    exitsOf(rule).flatMap(id => {
      const list = mayDial ? allowedExitTargets(grants, rule, id) : []
      return list === null ? [] : [[id, list] as const]
    })
  )
}

function unionOf(grants: readonly Grant[]): readonly Match[] | null {
  const lists = grants.flatMap(({ targets }) => (targets == null ? [] : [targets]))
  if (lists.length < grants.length) return null
  return [...new Set(lists.flat())].map(target => parseTarget(target, '/targets'))
}
