import { defineEntity, p } from '@mikro-orm/core'

/** Which leaf an agent has said that it trusts next. Counts only with the token that it said it with. */
export const NextPinRow = defineEntity({
  name: 'NextPinRow',
  tableName: 'control_next_pin',
  properties: {
    clientId: p.string().length(26).primary(),
    fingerprint: p.string().length(64),
    tokenHash: p.string().length(64)
  }
})
