import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import * as codes from './codes.ts'
import { DeviceRequest } from './entities.ts'
import { Request0001 } from './migrations/0001-request.ts'
import { openDeviceRequests } from './requests.ts'
import { type RouteDeps, routes } from './routes.ts'

const minuteMs = 60_000

export default definePlugin<RouteDeps>({
  name: 'device-login',
  version: '1.0.0',
  description: 'Sign-in of a command line without a browser (RFC 8628).',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', users: '^1.0.0', auth: '^1.0.0', credentials: '^1.0.0' },
  codes: Object.values(codes),
  store: { entities: [DeviceRequest], migrations: [{ name: '0001-request', class: Request0001 }] },
  services: { deviceRequests: asFunction(openDeviceRequests).singleton() },
  routes,
  async start({ deps: { deviceRequests, clock, control }, defer }) {
    defer(clock.every(minuteMs, () => control.servers.onOne('device-login.sweep', deviceRequests.sweep)))
  }
})
