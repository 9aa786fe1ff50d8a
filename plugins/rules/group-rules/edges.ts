// The parts of wholes as records show them: an edge for each client.
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, Type } from 'typebox'
import { ClientId, closed, orNull } from '../../../kernel/http/schema.ts'
import { type Shown, shownOf } from '../api/shown-states.ts'
import type { ClosedRules } from '../delivery/closed-rules.ts'
import { isGroupRule, type Rule, type State } from '../entities.ts'

export const Edge = closed(
  {
    client_id: ClientId,
    client_name: Type.String({ description: 'Name of the client.', examples: ['paris'] }),
    state: Type.String({ description: 'As that of a rule of this client alone.', examples: ['active'] }),
    state_reason: orNull(Type.String(), { description: 'Why it is not active, as a code.', examples: [null] })
  },
  { $id: 'RuleEdge', description: 'The rule on one client.' }
)
export type Edge = Static<typeof Edge>

export interface Edges {
  readonly edges: readonly Edge[] // by the names of the clients
  readonly state: string
  readonly state_reason: string | null
}

/** Of a whole: active on some clients, and not on others. */
export const partialState = 'partial'

/** Of a whole: the field that places it chooses no client. */
export const noEdge = 'no_edge'

/** Of an edge: its client has refused a change, and has the rule as it was. */
export const changeRefused = 'change_refused'

interface PartRow extends Pick<Rule, 'id' | 'clientId'> {
  readonly parent: string
  readonly name: string
  readonly state: State
  readonly stateReason: string | null
  readonly differs: 0 | 1
}

const parts = `
  select part.id, part.parent, part.client_id as "clientId", coalesce(client.name, '') as name, part.state,
    part.state_reason as "stateReason",
    case when part.before is null and (part.targets <> whole.targets or part.listen_from <> whole.listen_from
      or part.listen_to <> whole.listen_to or part.prefer_ipv6 <> whole.prefer_ipv6
      or part.paused <> whole.paused) then 1 else 0 end as differs
  from rules part join rules whole on whole.id = part.parent left join kernel_client client on client.id = part.client_id
  where part.parent in (?) and (part.state <> 'draining' or whole.state = 'draining')`

const refused = `
  select '' as id, part.parent, part.client_id as "clientId", client.name, 'failed' as state, part.code as "stateReason",
    0 as differs
  from rules_refused_part part join kernel_client client on client.id = part.client_id where part.parent in (?)`

/** Returns the edges of the wholes among the rules, by their ids. `shown` has the states that fields give the wholes. */
export async function edgesOf(
  rules: readonly Pick<Rule, 'id' | 'clientId' | 'state'>[],
  { shown, closings }: { shown: ReadonlyMap<string, Shown>; closings: Pick<ClosedRules, 'reasonOf'> },
  em: EntityManager
): Promise<ReadonlyMap<string, Edges>> {
  const wholes = rules.filter(isGroupRule)
  if (wholes.length === 0) return new Map()
  const ids = wholes.map(({ id }) => id)
  const marks = ids.map(() => '?').join(', ')
  const sql = `${parts} union all ${refused} order by name, "clientId"`.replaceAll('(?)', `(${marks})`)
  const rows = Map.groupBy(await em.execute<PartRow[]>(sql, [...ids, ...ids]), ({ parent }) => parent)
  return new Map(
    wholes.map(whole => {
      const own = shown.get(whole.id)
      const edges = (rows.get(whole.id) ?? []).map(row => edgeOf(row, own, closings.reasonOf(row)))
      return [whole.id, { edges, ...stateOf(whole, edges) }]
    })
  )
}

function edgeOf(row: PartRow, shown: Shown | undefined, closing: string | null): Edge {
  const { clientId: client_id, name: client_name } = row
  const isRefused = row.differs === 1 && (row.state === 'active' || row.state === 'paused')
  if (isRefused) return { client_id, client_name, state: 'failed', state_reason: changeRefused }
  return { client_id, client_name, ...shownOf(row, shown, closing) }
}

/** From the worst. Others, which fields give, are better than paused. */
const order = ['failed', 'draining', 'pending', 'paused']

function stateOf({ state }: Pick<Rule, 'state'>, edges: readonly Edge[]) {
  const rankOf = (edge: Edge): number =>
    order.includes(edge.state) ? order.indexOf(edge.state) : order.length
  const [worst] = edges.filter(edge => edge.state !== 'active').sort((a, b) => rankOf(a) - rankOf(b))
  if (state === 'draining') return { state, state_reason: null }
  if (edges.length === 0) return { state: 'pending', state_reason: noEdge }
  if (!worst)
    return { state: 'active', state_reason: edges.find(edge => edge.state_reason)?.state_reason ?? null }
  const isSome = edges.some(edge => edge.state === 'active')
  return { state: isSome ? partialState : worst.state, state_reason: worst.state_reason }
}
