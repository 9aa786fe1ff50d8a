import { Type } from 'typebox'
import { limitReached, rateLimited } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { credentialTooBroad, invalidScopes } from '../credentials/exports.ts'
import * as codes from './codes.ts'
import type { DeviceRequests } from './requests.ts'
import * as schemas from './schema.ts'

export interface RouteDeps extends Kernel {
  readonly deviceRequests: DeviceRequests
}

const start = defineRoute({
  method: 'POST',
  url: '/v1/auth/device',
  action: 'device.start',
  access: 'public',
  summary: 'Starts the sign-in of a device without a browser.',
  description:
    'Device Authorization Grant (RFC 8628): the device shows `user_code` and `verification_uri`, and polls with `device_code` until a user has approved.',
  secrets: ['device_code'],
  schema: () => ({ body: schemas.StartBody, reply: schemas.Started, errors: [invalidScopes, rateLimited] }),
  run: ({ deviceRequests }: RouteDeps, call) => deviceRequests.start(call.body, call)
})

const token = defineRoute({
  method: 'POST',
  url: '/v1/auth/device/token',
  action: 'device.token',
  access: 'public',
  reads: true, // polls that get no token are not audited
  summary: 'Returns the token of an approved device, once.',
  description:
    'The token belongs to the user who has approved, and expires after 7 days, or `credential_max_secs` if that is shorter.',
  secrets: ['token'],
  schema: () => ({
    body: schemas.TokenBody,
    reply: schemas.DeviceToken,
    errors: [codes.authorizationPending, codes.slowDown, codes.accessDenied, codes.expiredToken, rateLimited]
  }),
  run: ({ deviceRequests }: RouteDeps, call) => deviceRequests.poll(call.body.device_code, call)
})

const unknown = [codes.deviceRequestNotFound, rateLimited]

const review = defineRoute({
  method: 'POST',
  url: '/v1/auth/device/review',
  action: 'device.review',
  access: 'session',
  reads: true,
  summary: 'Returns which device waits with a code.',
  schema: () => ({ body: schemas.CodeBody, reply: schemas.Reviewed, errors: unknown }),
  run: ({ deviceRequests }: RouteDeps, call) => deviceRequests.review(call.body.user_code, call)
})

const approve = defineRoute({
  method: 'POST',
  url: '/v1/auth/device/approve',
  action: 'device.approve',
  access: 'session',
  needsFresh: true,
  status: 204,
  summary: 'Issues a token of yours to the device that waits with a code.',
  description:
    'The device fetches the token until its codes expire. Approve only a device that you have started yourself.',
  schema: () => ({
    body: schemas.CodeBody,
    reply: Type.Void(),
    errors: [...unknown, credentialTooBroad, limitReached]
  }),
  run: ({ deviceRequests }: RouteDeps, call) => deviceRequests.approve(call.body.user_code, call)
})

const deny = defineRoute({
  method: 'POST',
  url: '/v1/auth/device/deny',
  action: 'device.deny',
  access: 'session',
  status: 204,
  summary: 'Refuses the device that waits with a code.',
  schema: () => ({ body: schemas.CodeBody, reply: Type.Void(), errors: unknown }),
  run: ({ deviceRequests }: RouteDeps, call) => deviceRequests.deny(call.body.user_code, call)
})

export const routes = [start, token, review, approve, deny]
