import { defineEntity, type InferEntity, p } from '@mikro-orm/core'

/** A device that waits for the decision of a user, or has not fetched its token yet. */
export const DeviceRequest = defineEntity({
  name: 'DeviceRequest',
  tableName: 'device_login_request',
  properties: {
    id: p.string().length(26).primary(),
    deviceHash: p.string().length(64).unique('device_login_request_device_hash_unique'), // of the device code
    userCode: p.string().length(8).unique('device_login_request_user_code_unique'), // without the hyphen
    label: p.string().length(255),
    scopes: p.text().nullable(), // separated by spaces; null: everything that the user may do
    remoteAddr: p.string().length(45),
    network: p.string().length(64),
    expiresAt: p.bigint('number'), // ms since 1970, UTC
    decision: p.string().length(8).$type<'approved' | 'denied'>().nullable(), // null: none yet
    userId: p.string().length(32).nullable(), // who approved
    credentialId: p.string().length(26).nullable() // which was approved, and has no token before the device fetches it
  }
})
export type DeviceRequest = InferEntity<typeof DeviceRequest>
