// The rule field `ban`: the limits above which the agent bans a source from the rule.
import { type Static, Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { fieldUnsupported, ruleField } from '../rules/exports.ts'
import { coversEverybody } from './covers-everybody.ts'
import { BanPolicy } from './entities.ts'
import { capability, daySecs, key, maxBanSecs, maxCount, Policy } from './wire.ts'

export const invalidBan = defineCode('validation.ban', 400, 3)

const { code } = invalidBan
const refusal = (field: string, reason: string, why: string): Fault =>
  new Fault(invalidBan, `${field} ${why}`, { details: { field, reason } })

const integer = (maximum: number, description: string) =>
  Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum }), Type.Null()], { code, description }))

const Body = Type.Object(
  {
    new_connections: integer(maxCount, 'Bans a source that opens more connections in `within_secs`.'),
    failed_handshakes: integer(
      maxCount,
      'Bans a source with more failed handshakes in `within_secs`: a missing or unknown TLS name, or a PROXY header from an unknown proxy.'
    ),
    within_secs: integer(daySecs, 'Default 60.'),
    for_secs: integer(
      maxBanSecs,
      'Length of the first ban, default 600. Each further ban within a day is twice as long, up to a week.'
    ),
    live: Type.Optional(
      Type.Union([Type.Literal('cut'), Type.Literal('keep')], {
        code,
        description:
          'Whether to close open connections of a banned source (`cut`, the default) or to leave them open (`keep`).'
      })
    )
  },
  {
    additionalProperties: false,
    code,
    description:
      'TCP rules only: the agent bans sources that open too many connections or fail too many handshakes.',
    examples: [{ new_connections: 100, failed_handshakes: 5, within_secs: 60, for_secs: 600 }]
  }
)

export const field = ruleField({
  key,
  change: 'frozen',
  journalKind: 'limit',
  body: Body,
  requires: { capability, refusal: fieldUnsupported },
  message: Policy,
  errors: [invalidBan],
  parse(given: Static<typeof Body>, { protocol }, { proxy_in }) {
    const { new_connections = null, failed_handshakes = null, within_secs, for_secs, live } = given
    if (protocol === 'udp')
      throw refusal(
        `/${key}`,
        'protocol',
        'is for TCP rules only: over UDP anyone could forge a source to have it banned'
      )
    if (new_connections === null && failed_handshakes === null) {
      if (Object.keys(given).length === 0) return null
      throw refusal(`/${key}`, 'limit', 'needs new_connections, failed_handshakes, or both')
    }
    if (Array.isArray(proxy_in) && coversEverybody(proxy_in))
      throw refusal(
        `/${key}`,
        'proxy_in',
        'is not possible while proxy_in covers every address: any caller could have any source banned; list only your proxies in proxy_in'
      )
    const times = { within_secs: within_secs ?? 60, for_secs: for_secs ?? 600 }
    return { new_connections, failed_handshakes, ...times, live: live ?? 'cut' }
  },
  async check() {},
  async save(rule, { new_connections, failed_handshakes, within_secs, for_secs, live }, em) {
    await em.upsert(BanPolicy, {
      rule,
      newConnections: new_connections ?? null,
      failedHandshakes: failed_handshakes ?? null,
      withinSecs: within_secs ?? 60,
      forSecs: for_secs ?? 600,
      live: live ?? 'cut'
    })
  },
  async clear(rule, em) {
    await em.nativeDelete(BanPolicy, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(BanPolicy, { rule: { $in: [...ids] } })
    return new Map(
      rows.map(row => [
        row.rule,
        {
          new_connections: row.newConnections ?? null,
          failed_handshakes: row.failedHandshakes ?? null,
          within_secs: row.withinSecs,
          for_secs: row.forSecs,
          live: row.live
        }
      ])
    )
  },
  encode: ({ new_connections, failed_handshakes, within_secs, for_secs, live }) => ({
    ...(new_connections != null && { new_connections }),
    ...(failed_handshakes != null && { failed_handshakes }),
    within_secs: within_secs ?? 60,
    for_secs: for_secs ?? 600,
    live: live ?? 'cut'
  })
})
