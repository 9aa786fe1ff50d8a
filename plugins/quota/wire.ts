import { type Static, Type } from 'typebox'
import { Revision } from '../../kernel/wire/control.ts'
import { type Capability, Count, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

export { periodAt } from './period.ts' // server and agent begin the next period independently

const proto = new URL('./quota.proto', import.meta.url)

export const quotaKind = 'quota'
export const requiredKey = 'quota'
export const unsupportedCode = 'quota_unsupported_by_client'
export const capability: Capability = { id: 'traffic.quota', since: '1.4.0' }

const UserId = Type.String({ maxLength: 32 })
const Secs = Type.Integer({ minimum: 0, maximum: 8.64e12 }) // the range of a Date

const QuotaApplied = defineMessage({
  name: 'sluice.quota.QuotaApplied',
  proto,
  body: Type.Object({ user_id: UserId, revision: Revision })
})

export const TrafficQuotaUpdate = defineRequest({
  name: 'sluice.quota.TrafficQuotaUpdate',
  proto,
  body: Type.Object({
    action: Type.Union([Type.Literal('SET'), Type.Literal('REMOVE')]),
    user_id: UserId,
    revision: Revision,
    monthly_bytes: Count,
    anchor: Secs,
    period_end: Secs,
    since: Secs,
    used: Count,
    credit: Count,
    epoch: Type.String({ maxLength: 32 }),
    seq: Count,
    hold_secs: Count
  }),
  response: QuotaApplied
})
export type TrafficQuotaUpdate = Static<typeof TrafficQuotaUpdate.body>

export const QuotaRequired = defineMessage({
  name: 'sluice.quota.QuotaRequired',
  proto,
  body: Type.Object({})
})

/** The saved state of a quota on the agent. */
export const SavedQuota = defineMessage({
  name: 'sluice.quota.SavedQuota',
  proto,
  body: Type.Object({
    revision: Revision,
    monthly_bytes: Count,
    anchor: Secs,
    period_end: Secs,
    limit: Count,
    hold_secs: Count
  })
})
export type SavedQuota = Static<typeof SavedQuota.body>

export const messages = [TrafficQuotaUpdate, QuotaApplied, QuotaRequired, SavedQuota]
