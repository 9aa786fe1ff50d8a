// The rule field `source_limit`, which may change while the rule runs.
import { type Static, Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { fieldUnsupported, ruleField } from '../rules/exports.ts'
import { SourceLimit } from './entities.ts'
import { capability, defaultWithinSecs, key, Limit, maxCount, maxWithinSecs } from './wire.ts'

export const invalidLimit = defineCode('validation.source_limit', 400, 3)

const optional = (maximum: number, description: string) =>
  Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum }), Type.Null()], { code: invalidLimit.code, description })
  )

const Body = Type.Object(
  {
    connections: optional(maxCount, 'Connections and flows of one source at once.'),
    new_connections: optional(maxCount, 'Connections and flows that one source may begin in `within_secs`.'),
    within_secs: optional(maxWithinSecs, `Of new_connections; default ${defaultWithinSecs}.`)
  },
  {
    additionalProperties: false,
    code: invalidLimit.code,
    description:
      'Limits for each source by itself, an IPv4 address or the /64 of an IPv6 address. With proxy_in it is the address that the header gives.',
    examples: [{ connections: 20, new_connections: 100, within_secs: 10 }]
  }
)

export const field = ruleField({
  key,
  change: 'frozen',
  journalKind: 'limit',
  body: Body,
  requires: { capability, refusal: fieldUnsupported },
  message: Limit,
  errors: [invalidLimit],
  parse({ connections = null, new_connections = null, within_secs = null }: Static<typeof Body>) {
    if (within_secs !== null && new_connections === null)
      throw new Fault(invalidLimit, `/${key}/within_secs needs new_connections; give both, or leave it out`, {
        details: { field: `/${key}/within_secs`, reason: 'new_connections' }
      })
    if (connections === null && new_connections === null) return null
    const isRate = new_connections !== null
    return { connections, new_connections, within_secs: isRate ? (within_secs ?? defaultWithinSecs) : null }
  },
  async check() {},
  async save(rule, { connections = null, new_connections = null, within_secs = null }, em) {
    await em.upsert(SourceLimit, {
      ...{ rule, connections, newConnections: new_connections, withinSecs: within_secs }
    })
  },
  async clear(rule, em) {
    await em.nativeDelete(SourceLimit, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(SourceLimit, { rule: { $in: [...ids] } })
    return new Map(
      rows.map(({ rule, connections = null, newConnections = null, withinSecs = null }) => [
        rule,
        { connections, new_connections: newConnections, within_secs: withinSecs }
      ])
    )
  },
  encode: limit =>
    Object.fromEntries(Object.entries(limit).filter(([, value]) => value !== null)) as Static<
      typeof Limit.body
    >
})
