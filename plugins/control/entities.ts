import { defineEntity, p } from '@mikro-orm/core'

/** See generations.ts. */
export const ClientGeneration = defineEntity({
  name: 'ClientGeneration',
  tableName: 'control_generation',
  properties: { clientId: p.string().length(26).primary(), salt: p.string().length(32) }
})

/** The next certificate that an agent trusts. Valid only while the client has the same token. */
export const NextPinRow = defineEntity({
  name: 'NextPinRow',
  tableName: 'control_next_pin',
  properties: {
    clientId: p.string().length(26).primary(),
    fingerprint: p.string().length(64),
    tokenHash: p.string().length(64)
  }
})

/** See shared-certificate.ts. */
export const CertificateRow = defineEntity({
  name: 'CertificateRow',
  tableName: 'control_certificate',
  properties: {
    name: p.string().length(4).primary(),
    certificate: p.text(),
    keyId: p.string().length(16),
    sealedKey: p.text()
  }
})
