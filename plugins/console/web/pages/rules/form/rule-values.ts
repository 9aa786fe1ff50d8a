// Between records of rules, values of the form, and bodies of requests.
import type { Arguments } from '../../../../../../platform/api/operations.ts'
import { given, patchOf, type Values } from '../../../parts/schema-form/values.ts'
import type { Edge } from '../../clients/queries.ts'
import type { Rule } from '../queries.ts'
import { type TargetValues, targetsIn } from './Targets.tsx'

type CreateBody = Arguments<'POST /v1/rules'>[0] extends { body: infer B } ? B : never
type PatchBody = Arguments<'PATCH /v1/rules/{rule_id}'>[0] extends { body: infer B } ? B : never

export const emptyRule = (edges: readonly Edge[], edge?: string): Values => ({
  client: edge ?? edges.find(({ connected }) => connected)?.client_id ?? edges[0]?.client_id,
  protocol: 'tcp',
  targets: [{ host: '' }]
})

/** Properties of a record that say what has become of it, not what it is. */
const told = [
  'rule_id',
  'client_id',
  'client_name',
  'state',
  'state_reason',
  'created_at',
  'updated_at',
  'state_changed_at',
  'etag',
  'edges'
]

/** Returns the values of a form that edits the rule. */
export function valuesOf(rule: Rule): Values {
  const all = Object.entries(rule).filter(([key, value]) => !told.includes(key) && value !== null)
  const targets = rule.targets.map(({ host, port, priority, weight }) => ({ host, port, priority, weight }))
  return { ...Object.fromEntries(all), client: rule.client_id ?? undefined, targets }
}

/** Returns the values of a new rule that is like this one: its port is still to be chosen. */
export function likeRule(rule: Rule): Values {
  const { listen_port: _, listen_port_end: __, placed_by: ___, ...rest } = valuesOf(rule)
  return rest
}

const sent = (targets: readonly TargetValues[]) =>
  targets.map(target => given({ ...target, host: target.host.trim() }))

export function bodyOf(values: Values): CreateBody {
  const { client, clients, targets: _, ...rest } = values
  const place = clients === undefined ? { client } : { clients }
  return {
    ...(given({ ...place, ...rest }) as Values),
    targets: sent(targetsIn(values))
  } as unknown as CreateBody
}

/** Returns the changes as a merge patch; one without members changes nothing. */
export function changesOf(before: Values, after: Values): Values {
  const { client: _, ...patch } = patchOf(
    { ...before, targets: sent(targetsIn(before)) },
    { ...after, targets: sent(targetsIn(after)) }
  )
  return patch
}

export const asPatch = (changes: Values): PatchBody => changes as unknown as PatchBody
