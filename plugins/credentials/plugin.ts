import { asFunction } from 'awilix'
import { definePlugin } from '../../kernel/plugin.ts'
import { expirySlot } from '../http/exports.ts'
import { removalSlot, rowFieldSlot } from '../users/exports.ts'
import { announceExpiry } from './announce-expiry.ts'
import * as codes from './codes.ts'
import { commands } from './commands.ts'
import { openCredentials } from './credentials.ts'
import { tokenExpiry } from './expiry-source.ts'
import type { TokenGrants } from './exports.ts'
import { openKnownScopes } from './known-scopes.ts'
import { type RouteDeps, routes } from './routes.ts'
import { keys } from './settings.ts'
import { openTokenGrants } from './token-grants.ts'
import { credentialCount, removal } from './user-fields.ts'

interface Deps extends RouteDeps {
  readonly tokenGrants: TokenGrants
}

export default definePlugin<Deps>({
  name: 'credentials',
  version: '1.0.0',
  description: 'Bearer tokens of users, with their scopes.',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', users: '^1.0.0' },
  keys,
  codes: Object.values(codes),
  services: {
    knownScopes: asFunction(openKnownScopes).singleton(),
    credentials: asFunction(openCredentials).singleton()
  },
  exports: { tokenGrants: asFunction(openTokenGrants).singleton() },
  fills: [
    rowFieldSlot.fillWith((deps: RouteDeps) => credentialCount(deps)),
    removalSlot.fill(removal),
    expirySlot.fill(tokenExpiry)
  ],
  routes,
  commands,
  async start({ deps, defer }) {
    const { clock, control } = deps
    const announce = () => control.servers.onOne('credentials.expiry', () => announceExpiry(deps))
    defer(clock.every(60 * 60_000, () => void announce()))
    await announce()
  }
})
