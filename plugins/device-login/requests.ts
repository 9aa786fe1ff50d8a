// Requests of devices for a token (RFC 8628). A device polls with its device code; a signed-in user decides with the user code.
import { type DeviceSide, openDeviceSide } from './device-side.ts'
import type { RequestDeps } from './request-rows.ts'
import { sweepExpired } from './sweep-expired.ts'
import { openUserSide, type UserSide } from './user-side.ts'

/** Requests expire after 10 minutes. */
export interface DeviceRequests extends DeviceSide, UserSide {
  /** Deletes expired requests, and revokes the credentials of those that were approved. Logs errors. */
  sweep(): Promise<void>
}

export const openDeviceRequests = (deps: RequestDeps): DeviceRequests => ({
  ...openDeviceSide(deps),
  ...openUserSide(deps),
  sweep: () => sweepExpired(deps).catch(error => deps.log.error('device_login.sweep_failed', String(error)))
})
