import { type Static, Type } from 'typebox'
import { Revision } from '../../kernel/wire/control.ts'
import { type Capability, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./rate-limit.proto', import.meta.url)

export const key = 'rate_limit'
export const envelopeKind = 'envelope'
export const requiredKey = 'owner_limit'
export const unsupportedCode = 'rate_limit_unsupported_by_client'
export const capability: Capability = { id: 'rule.rate-limit', since: '0.11.0' }

const OwnerId = Type.String({ maxLength: 32 })
const Amount = Type.Number({ exclusiveMinimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Rate = Type.Object({ per_sec: Amount, burst: Amount })

const limits = Type.Object({
  bytes_in: Type.Optional(Rate),
  bytes_out: Type.Optional(Rate),
  connections: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  new_connections: Type.Optional(Rate)
})
export type Limits = Static<typeof limits>

export const Limits = defineMessage({ name: 'sluice.rate_limit.Limits', proto, body: limits })

const EnvelopeApplied = defineMessage({
  name: 'sluice.rate_limit.EnvelopeApplied',
  proto,
  body: Type.Object({ owner_id: OwnerId, revision: Revision })
})

export const EnvelopeSet = defineRequest({
  name: 'sluice.rate_limit.EnvelopeSet',
  proto,
  body: Type.Object({ owner_id: OwnerId, revision: Revision, limits }),
  response: EnvelopeApplied
})

export const EnvelopeRemove = defineRequest({
  name: 'sluice.rate_limit.EnvelopeRemove',
  proto,
  body: Type.Object({ owner_id: OwnerId, revision: Revision }),
  response: EnvelopeApplied
})

export const EnvelopeRequired = defineMessage({
  name: 'sluice.rate_limit.EnvelopeRequired',
  proto,
  body: Type.Object({})
})

export const maxWaits = 1_000 // per message

export const Throttled = defineMessage({
  name: 'sluice.rate_limit.Throttled',
  proto,
  body: Type.Object({
    waits: Type.Array(
      Type.Object({
        scope: Type.Union([Type.Literal('rule'), Type.Literal('owner')]),
        id: Type.String({ maxLength: 32 }),
        ms: Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
      }),
      { maxItems: maxWaits }
    )
  })
})
export type Wait = Static<typeof Throttled.body>['waits'][number]

export const messages = [Limits, EnvelopeSet, EnvelopeRemove, EnvelopeApplied, EnvelopeRequired, Throttled]
