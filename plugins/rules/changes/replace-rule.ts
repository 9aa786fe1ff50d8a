// PUT of a definition: the whole rule but its place. The rule stays in force as it was until its client has accepted it.

import type { DefinitionBody } from '../api/schema.ts'
import type { ChangeBy } from '../fields/fields.ts'
import type { Change, Services } from '../services.ts'
import type { Stored, Wanted } from './apply-change.ts'
import { openChange } from './change-rule.ts'
import { parse } from './new-rule.ts'
import { place, requirePlace } from './placement.ts'
import { immutable } from './rule-body.ts'

export const openReplace = (services: Services) => {
  const change = openChange(services)
  const { filled, fields, reader } = services
  return async (id: string, body: DefinitionBody, ackSecs: number | undefined, call: Change) => {
    const draft = parse(body)
    const given = { ...fields.none(), ...fields.parse(body, draft, call.principal) }
    const wanted = async ({ rule, values: stored }: Stored, { principal, em }: ChangeBy): Promise<Wanted> => {
      const values = { ...given, ...fields.staying(body, stored) }
      requirePlace(body.client, values, fields.placing())
      const placed = await place(body, principal, filled, em)
      const next = { ...draft, ...placed, paused: body.paused ?? rule.paused, values }
      for (const [property, key] of placeProperties) if (next[key] !== rule[key]) throw immutable(property)
      return next
    }
    await change(id, { kind: 'replace', ackSecs, wanted }, call)
    return reader.read(id, call.principal)
  }
}

const placeProperties = [
  ['client', 'clientId'],
  ['owner', 'owner'],
  ['protocol', 'protocol'],
  ['listen_port', 'listenFrom'],
  ['listen_port_end', 'listenTo']
] as const
