// The members of group rules as records show them: an edge for each client.

import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, Type } from 'typebox'
import { ClientId, closed, orNull } from '../../../kernel/http/schema.ts'
import { type Reasons, type Shown, toShownState } from '../api/shown-states.ts'
import type { ClosedRules } from '../delivery/closed-rules.ts'
import { isInForce } from '../delivery/rule-states.ts'
import type { DerivedParts } from '../derived/derived-parts.ts'
import { isGroupRule, type Rule, type State } from '../entities.ts'
import { targetsOn } from '../fields/target-values.ts'

export const Edge = closed(
  {
    client_id: ClientId,
    client_name: Type.String({ description: 'Name of the client.', examples: ['paris'] }),
    state: Type.String({ description: 'As the state of a rule on this client alone.', examples: ['active'] }),
    state_reason: orNull(Type.String(), { description: 'Why it is not active, as a code.', examples: [null] })
  },
  { $id: 'RuleEdge', description: 'The rule on one client.' }
)
export type Edge = Static<typeof Edge>

interface Edges {
  readonly edges: readonly Edge[] // by the names of the clients
  readonly state: string
  readonly state_reason: string | null
  readonly change_pending: boolean
}

/** State of a group rule that is active on some clients only. */
export const partialState = 'partial'

/** Reason of a group rule without clients. */
const noEdge = 'no_edge'

/** Reason of an edge: the client refused a change, and keeps the earlier rule. */
const changeRefused = 'change_refused'

interface EdgeSources {
  readonly shown: ReadonlyMap<string, Shown>
  readonly parts: Pick<DerivedParts, 'pendingReasons'>
  readonly closedRules: Pick<ClosedRules, 'reason'>
}

interface MemberRow extends Pick<Rule, 'id' | 'clientId'> {
  readonly parent: string
  readonly name: string
  readonly state: State
  readonly stateReason: string | null
  readonly differs: 0 | 1
  readonly targets: string | Rule['targets'] | null // if they differ; JSON, which PostgreSQL parses
  readonly waits: 0 | 1 // for the client to apply a change
}

const members = `
  select member.id, member.parent, member.client_id as "clientId", coalesce(client.name, '') as name, member.state,
    member.state_reason as "stateReason",
    case when member.before is null and (member.listen_from <> group_rule.listen_from
      or member.listen_to <> group_rule.listen_to or member.prefer_ipv6 <> group_rule.prefer_ipv6
      or member.paused <> group_rule.paused) then 1 else 0 end as differs,
    case when member.before is null and member.targets <> group_rule.targets then member.targets end as targets,
    case when member.before is null then 0 else 1 end as waits
  from rules member join rules group_rule on group_rule.id = member.parent left join kernel_client client on client.id = member.client_id
  where member.parent in (?) and (member.state <> 'draining' or group_rule.state = 'draining')`

const refused = `
  select '' as id, member.parent, member.client_id as "clientId", client.name, 'failed' as state, member.code as "stateReason",
    0 as differs, null as targets, 0 as waits
  from rules_refused_member member join kernel_client client on client.id = member.client_id where member.parent in (?)`

/** Returns the edges of the group rules among `rules`, by id. `shown` has the states that fields give to rules. */
export async function loadEdges(
  rules: readonly Pick<Rule, 'id' | 'clientId' | 'state' | 'targets'>[],
  { shown, closedRules, parts }: EdgeSources,
  em: EntityManager
): Promise<ReadonlyMap<string, Edges>> {
  const groupRules = rules.filter(isGroupRule)
  if (groupRules.length === 0) return new Map()
  const ids = groupRules.map(({ id }) => id)
  const marks = ids.map(() => '?').join(', ')
  const sql = `${members} union all ${refused} order by name, "clientId"`.replaceAll('(?)', `(${marks})`)
  const rows = Map.groupBy(await em.execute<MemberRow[]>(sql, [...ids, ...ids]), ({ parent }) => parent)
  const waiting = [...rows.values()].flat().map(row => ({ ...row, isPending: row.waits === 1 }))
  const pending = await parts.pendingReasons(waiting, em)
  return new Map(
    groupRules.map(rule => {
      const own = shown.get(rule.id)
      const members = rows.get(rule.id) ?? []
      const edges = members.map(row => {
        const reasons = { closed: closedRules.reason(row), pending: pending.get(row.id) }
        return differs(row, rule) ? refusedEdge(row) : toEdge(row, own, reasons)
      })
      const change_pending = members.some(({ waits }) => waits === 1)
      return [rule.id, { edges, ...combinedState(rule, edges), change_pending }]
    })
  )
}

/** True if the client has refused a change of the group rule. */
function differs(
  { state, differs, targets, clientId }: MemberRow,
  groupRule: Pick<Rule, 'targets'>
): boolean {
  if (!isInForce({ state })) return false
  if (differs === 1 || targets === null) return differs === 1
  const own: unknown = typeof targets === 'string' ? JSON.parse(targets) : targets
  return !isDeepStrictEqual(own, targetsOn(clientId, groupRule.targets))
}

const refusedEdge = ({ clientId: client_id, name: client_name }: MemberRow): Edge => ({
  client_id,
  client_name,
  state: 'failed',
  state_reason: changeRefused
})

function toEdge(row: MemberRow, shown: Shown | undefined, reasons: Reasons): Edge {
  const { clientId: client_id, name: client_name } = row
  return { client_id, client_name, ...toShownState(row, shown, reasons) }
}

/** The worst state first. States of fields are better than paused. */
const order = ['failed', 'draining', 'pending', 'paused']

function combinedState({ state }: Pick<Rule, 'state'>, edges: readonly Edge[]) {
  const rankOf = (edge: Edge): number =>
    order.includes(edge.state) ? order.indexOf(edge.state) : order.length
  const [worst] = edges.filter(edge => edge.state !== 'active').sort((a, b) => rankOf(a) - rankOf(b))
  if (state === 'draining') return { state, state_reason: null }
  if (edges.length === 0) return { state: 'pending', state_reason: noEdge }
  if (!worst)
    return { state: 'active', state_reason: edges.find(edge => edge.state_reason)?.state_reason ?? null }
  const isPartlyActive = edges.some(edge => edge.state === 'active')
  return { state: isPartlyActive ? partialState : worst.state, state_reason: worst.state_reason }
}
