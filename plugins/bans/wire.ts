import { type Static, Type } from 'typebox'
import { Revision } from '../../kernel/wire/control.ts'
import { type Capability, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./bans.proto', import.meta.url)

export const key = 'ban'
export const banKind = 'ban'
export const capability: Capability = { id: 'bans', since: '2.1.0' }

/** The reason under which the statistics count banned callers. */
export const refusal = 'source_banned'

export const daySecs = 86_400
export const maxCount = 1_000_000
export const maxBanSecs = 365 * daySecs
export const maxGrownSecs = 7 * daySecs // longest ban that an agent makes
/** A ban counts as repeated within this time after the source's last ban ended. */
export const repeatMs = daySecs * 1000

// Bounds per client. The agent counts bans that are in force or ended within a day, the server also older ones.
export const maxOperatorBans = 5_000
export const maxRuleBans = 5_000 // that rules cause, in equal parts for the owners of the rules
export const maxBansPerRule = 500

const count = Type.Integer({ minimum: 1, maximum: maxCount })
const Live = Type.Union([Type.Literal('cut'), Type.Literal('keep')])
const Id = Type.String({ pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' })
const Ms = Type.Integer({ minimum: 0, maximum: 8.64e15 })

export const Policy = defineMessage({
  name: 'sluice.bans.Policy',
  proto,
  body: Type.Object({
    new_connections: Type.Optional(count),
    failed_handshakes: Type.Optional(count),
    within_secs: Type.Integer({ minimum: 1, maximum: daySecs }),
    for_secs: Type.Integer({ minimum: 1, maximum: maxBanSecs }),
    live: Live
  })
})
export type Policy = Static<typeof Policy.body>

const Ban = Type.Object({
  id: Id,
  source: Type.String({ maxLength: 64 }),
  rule_id: Type.String({ maxLength: 26 }),
  cause: Type.Union([
    Type.Literal('operator'),
    Type.Literal('new_connections'),
    Type.Literal('failed_handshakes')
  ]),
  from_ms: Ms,
  until_ms: Ms,
  times: Type.Integer({ minimum: 1, maximum: maxCount }),
  live: Live
})
export type Ban = Static<typeof Ban>

const BanApplied = defineMessage({
  name: 'sluice.bans.BanApplied',
  proto,
  body: Type.Object({ id: Id, revision: Revision })
})

export const BanSet = defineRequest({
  name: 'sluice.bans.BanSet',
  proto,
  body: Type.Object({ revision: Revision, ban: Ban }),
  response: BanApplied
})

export const BanRemove = defineRequest({
  name: 'sluice.bans.BanRemove',
  proto,
  body: Type.Object({ id: Id, revision: Revision }),
  response: BanApplied
})

const Stored = defineMessage({ name: 'sluice.bans.Stored', proto, body: Type.Object({}) })

const maxReported = 500 // at most 250 bytes each; a frame holds 256 KiB

export const Report = defineRequest({
  name: 'sluice.bans.Report',
  proto,
  body: Type.Object({ bans: Type.Array(Ban, { maxItems: maxReported }) }),
  response: Stored
})

export const messages = [Policy, BanSet, BanRemove, BanApplied, Report, Stored]
