import { defineEntity, p } from '@mikro-orm/core'

/**
 * The next certificate that an agent has confirmed to trust. Valid only while the client has the same token: a new
 * enrollment replaces the agent's pins.
 */
export const NextPinRow = defineEntity({
  name: 'NextPinRow',
  tableName: 'certificate_next_pin',
  properties: {
    clientId: p.string().length(26).primary(),
    fingerprint: p.string().length(64),
    tokenHash: p.string().length(64)
  }
})

/** A certificate with its sealed key, in a store that servers share. See sealed-certificates.ts. */
export const SealedRow = defineEntity({
  name: 'SealedRow',
  tableName: 'certificate_sealed',
  properties: {
    name: p.string().length(4).primary(),
    certificate: p.text(),
    keyId: p.string().length(16),
    sealedKey: p.text()
  }
})
