// The state of a rule as the console shows it: 'unknown' while its client is offline, whatever it last reported.
import type { ClientsById } from '../clients/queries.ts'
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
type ShownState = (typeof shownStates)[number]

const clientIdsOf = ({ client_id, edges }: Rule): readonly string[] =>
  client_id === null ? (edges?.map(client => client.client_id) ?? []) : [client_id]

/** True if all clients of the rule are offline. Clients that are not read yet count as online. */
export function isRuleOffline(rule: Rule, clients: ClientsById): boolean {
  const own = clientIdsOf(rule)
  return own.length > 0 && own.every(id => clients.get(id)?.connected === false)
}

export const shownStateOf = (rule: Rule, clients: ClientsById): ShownState =>
  ['active', 'partial', 'draining'].includes(rule.state) && isRuleOffline(rule, clients)
    ? 'unknown'
    : rule.state

type Target = Rule['targets'][number]
type Health = 'healthy' | 'ejected' | 'failed' | 'unknown'

export function healthOf({ health }: Target, isOffline: boolean, now = Date.now()): Health {
  if (isOffline) return 'unknown'
  if (health.ejected_until !== null && Date.parse(health.ejected_until) > now) return 'ejected'
  return health.state
}

const badFirst: readonly Health[] = ['failed', 'ejected', 'unknown', 'healthy']

export function worstHealthOf(rule: Rule, clients: ClientsById): Health {
  const isOffline = isRuleOffline(rule, clients)
  const states = new Set(rule.targets.map(target => healthOf(target, isOffline)))
  return badFirst.find(state => states.has(state)) ?? 'unknown'
}

/** Returns targets that get no connections. */
export const downTargets = (rule: Rule, clients: ClientsById): readonly Target[] =>
  rule.targets.filter(target =>
    ['failed', 'ejected'].includes(healthOf(target, isRuleOffline(rule, clients)))
  )
