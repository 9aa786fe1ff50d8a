import { asFunction } from 'awilix'
import { metricsSlot } from '../../kernel/metrics.ts'
import { definePlugin } from '../../kernel/plugin.ts'
import { providerLogoutSlot } from '../auth/exports.ts'
import * as codes from './codes.ts'
import { fills as commandFills, commands } from './commands.ts'
import { Identity, UsedState } from './entities.ts'
import { type Identities, openIdentities } from './identities.ts'
import { openIdentityDirectory } from './identity-directory.ts'
import { type OidcMetrics, openOidcMetrics } from './metrics.ts'
import { Oidc0001 } from './migrations/0001-oidc.ts'
import { checkConfig } from './provider/provider-config.ts'
import { openProviders } from './provider/providers.ts'
import { revocations } from './revocations.ts'
import { type RouteDeps, routes } from './routes.ts'
import { config } from './settings.ts'
import { openBackChannelLogout } from './sign-in/back-channel-logout.ts'
import { openBeginSignIn } from './sign-in/begin-sign-in.ts'
import { openFinishSignIn } from './sign-in/finish-sign-in.ts'
import { type GroupRights, openGroupRights } from './sign-in/group-rights.ts'
import { openProviderLogout } from './sign-in/provider-logout.ts'
import { openSignInLog } from './sign-in/sign-in-log.ts'
import { openStates, type States } from './sign-in/states.ts'
import { openUserOfClaims, type UserOfClaims } from './sign-in/user-of-claims.ts'
import { userFills } from './user-fills.ts'

const minuteMs = 60_000

interface Deps extends RouteDeps {
  readonly identities: Identities
  readonly oidcMetrics: OidcMetrics
  readonly states: States
  readonly userOfClaims: UserOfClaims
  readonly groupRights: GroupRights
}

export default definePlugin<Deps>({
  name: 'oidc',
  version: '1.0.0',
  description: 'Sign-in at OpenID Connect providers.',
  kernel: '^2.0.0',
  needs: {
    auth: '^1.1.0',
    cli: '^1.0.0',
    grants: '^1.0.0',
    http: '^1.0.0',
    secrets: '^1.0.0',
    users: '^1.0.0'
  },
  config,
  checkConfig,
  codes: Object.values(codes),
  store: { entities: [Identity, UsedState], migrations: [{ name: '0001-oidc', class: Oidc0001 }] },
  services: {
    identities: asFunction(openIdentities).singleton(),
    identityDirectory: asFunction(openIdentityDirectory).singleton(),
    oidcMetrics: asFunction(openOidcMetrics).singleton(),
    providers: asFunction(openProviders).singleton(),
    states: asFunction(openStates).singleton(),
    groupRights: asFunction(openGroupRights).singleton(),
    userOfClaims: asFunction(openUserOfClaims).singleton(),
    beginSignIn: asFunction(openBeginSignIn).singleton(),
    finishSignIn: asFunction(openFinishSignIn).singleton(),
    backChannelLogout: asFunction(openBackChannelLogout).singleton(),
    signInLog: asFunction(openSignInLog).singleton()
  },
  fills: [
    metricsSlot.fillWith(({ oidcMetrics }: Deps) => oidcMetrics.collect),
    providerLogoutSlot.fillWith((deps: Deps) => openProviderLogout(deps)),
    ...userFills,
    ...revocations,
    ...commandFills
  ],
  routes,
  commands,
  async start({ deps: { providers, states, clock, control }, defer }) {
    providers.check()
    defer(clock.every(minuteMs, () => control.servers.onOne('oidc.sweep', states.sweep)))
  }
})
