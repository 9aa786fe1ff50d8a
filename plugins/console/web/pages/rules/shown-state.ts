// What is known of a rule: of an edge that is away nothing is, whatever it said last.
import type { EdgesById } from '../clients/queries.ts'
import type { Rule } from './queries.ts'

export const shownStates = [
  'active',
  'unknown',
  'failed',
  'partial',
  'pending',
  'paused',
  'outside_schedule',
  'draining',
  'expired'
] as const
export type ShownState = (typeof shownStates)[number]

const edgesOf = ({ client_id, edges }: Rule): readonly string[] =>
  client_id === null ? (edges?.map(edge => edge.client_id) ?? []) : [client_id]

/** Whether no edge of the rule is there to tell. Edges that are not read yet are not away. */
export function isAway(rule: Rule, edges: EdgesById): boolean {
  const own = edgesOf(rule)
  return own.length > 0 && own.every(id => edges.get(id)?.connected === false)
}

export const shownStateOf = (rule: Rule, edges: EdgesById): ShownState =>
  ['active', 'partial', 'draining'].includes(rule.state) && isAway(rule, edges) ? 'unknown' : rule.state

type Target = Rule['targets'][number]
export type Health = 'healthy' | 'ejected' | 'failed' | 'unknown'

export function healthOf({ health }: Target, away: boolean, now = Date.now()): Health {
  if (away) return 'unknown'
  if (health.ejected_until !== null && Date.parse(health.ejected_until) > now) return 'ejected'
  return health.state
}

/** Targets that get no connections. */
export const downTargets = (rule: Rule, edges: EdgesById): readonly Target[] =>
  rule.targets.filter(target => ['failed', 'ejected'].includes(healthOf(target, isAway(rule, edges))))
