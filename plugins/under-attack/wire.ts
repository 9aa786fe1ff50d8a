import { type Static, Type } from 'typebox'
import { Revision } from '../../kernel/wire/control.ts'
import { type Capability, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./under-attack.proto', import.meta.url)

export const switchKind = 'under_attack'
export const capability: Capability = { id: 'under-attack', since: '2.1.0' }

/** The reason under which the statistics count callers that only the switch refuses. */
export const refusal = 'under_attack'

export const maxCount = 1_000_000
export const maxWithinSecs = 86_400
export const maxForSecs = 30 * 86_400
/** Divides the rules' per-source limits. */
export const divisor = 4
/** Most bytes of replies per byte received from a caller that is not proven. */
export const replyRatio = 3
export const defaults = { for_secs: 3_600, connections: 20, new_connections: 20, within_secs: 10 } as const

const count = Type.Integer({ minimum: 1, maximum: maxCount })
const Id = Type.String({ maxLength: 26 })

const SwitchApplied = defineMessage({
  name: 'sluice.under_attack.SwitchApplied',
  proto,
  body: Type.Object({ id: Id, revision: Revision })
})

export const SwitchSet = defineRequest({
  name: 'sluice.under_attack.SwitchSet',
  proto,
  body: Type.Object({
    id: Id,
    revision: Revision,
    until_ms: Type.Integer({ minimum: 0, maximum: 8.64e15 }),
    connections: count,
    new_connections: count,
    within_secs: Type.Integer({ minimum: 1, maximum: maxWithinSecs })
  }),
  response: SwitchApplied
})
export type Switch = Static<typeof SwitchSet.body>

export const SwitchRemove = defineRequest({
  name: 'sluice.under_attack.SwitchRemove',
  proto,
  body: Type.Object({ id: Id, revision: Revision }),
  response: SwitchApplied
})

export const messages = [SwitchSet, SwitchRemove, SwitchApplied]
