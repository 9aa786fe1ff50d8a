// Converts between rule records, form values and request bodies.
import type { Arguments } from '../../../../../../kernel/platform/api/operations.ts'
import type { Schemas } from '../../../parts/schema-form/schema.ts'
import {
  isObject,
  isSame,
  toMergePatch,
  type Values,
  withoutEmpty
} from '../../../parts/schema-form/values.ts'
import type { Client } from '../../clients/queries.ts'
import type { Rule } from '../queries.ts'
import { type TargetValues, targetsIn } from './Targets.tsx'
import { targetPropertiesIn } from './target-properties.ts'

type CreateBody = Arguments<'POST /v1/rules'>[0] extends { body: infer B } ? B : never
type PatchBody = Arguments<'PATCH /v1/rules/{rule_id}'>[0] extends { body: infer B } ? B : never

export const emptyRule = (clients: readonly Client[], client?: string): Values => ({
  client: client ?? clients.find(({ connected }) => connected)?.client_id ?? clients[0]?.client_id,
  protocol: 'tcp',
  targets: [{ host: '' }]
})

/** Read-only properties of a record. */
const stateKeys = [
  'rule_id',
  'client_id',
  'client_name',
  'state',
  'state_reason',
  'change_pending',
  'created_at',
  'updated_at',
  'state_changed_at',
  'etag',
  'edges'
]

/** Returns the form values of a rule. */
export function toValues(rule: Rule, schemas: Schemas): Values {
  const all = Object.entries(rule).filter(([key, value]) => !stateKeys.includes(key) && value !== null)
  const added = targetPropertiesIn(schemas)
  const targets = rule.targets.map(({ host, port, priority, weight, via, ...more }) => ({
    host,
    port,
    priority,
    weight,
    via: via === null ? [] : via, // an empty path: the client of the rule dials
    ...Object.fromEntries(Object.entries(more).filter(([key]) => key in added))
  }))
  return { ...Object.fromEntries(all), client: rule.client_id ?? undefined, targets }
}

/** Returns the form values for a copy of the rule, without its ports and its name. */
export function duplicateRule(rule: Rule, schemas: Schemas): Values {
  const { listen_port: _, listen_port_end: __, name: ___, placed_by: ____, ...rest } = toValues(rule, schemas)
  return rest
}

/** The API has null for the empty path of a target. */
const withNull = (targets: readonly unknown[]) =>
  targets.map(target => (isObject(target) && isSame(target['via'], []) ? { ...target, via: null } : target))

const toTargets = (targets: readonly TargetValues[]) =>
  targets.map(target => withoutEmpty({ ...target, host: target.host.trim() }))

export function toBody(values: Values): CreateBody {
  const { client, clients, targets: _, ...rest } = values
  const place = clients === undefined ? { client } : { clients }
  return {
    ...(withoutEmpty({ ...place, ...rest }) as Values),
    targets: withNull(toTargets(targetsIn(values)))
  } as unknown as CreateBody
}

/** Returns the changes as a merge patch; an empty patch changes nothing. */
export function diffValues(before: Values, after: Values): Values {
  const { client: _, ...patch } = toMergePatch(
    { ...before, targets: toTargets(targetsIn(before)) },
    { ...after, targets: toTargets(targetsIn(after)) }
  )
  return Array.isArray(patch['targets']) ? { ...patch, targets: withNull(patch['targets']) } : patch
}

export const asPatch = (changes: Values): PatchBody => changes as unknown as PatchBody
