// A logout that also ends the session at the provider: https://openid.net/specs/openid-connect-rpinitiated-1_0.html
import { Fault } from '../../../kernel/base/errors.ts'
import type { ProviderLogout } from '../../auth/exports.ts'
import { providerUnavailable } from '../codes.ts'
import type { Providers } from '../provider/providers.ts'
import type { SignInLog } from './sign-in-log.ts'

interface Deps {
  readonly providers: Providers
  readonly signInLog: Pick<SignInLog, 'logoutFailed'>
}

/**
 * Names no token, since sluice keeps none: the provider asks the user whether to sign out. If the provider does not answer,
 * the logout ends the session of sluice only.
 */
export const openProviderLogout =
  ({ providers, signInLog }: Deps): ProviderLogout =>
  async name => {
    const provider = providers.all().find(one => one.name === name)
    if (provider?.logout !== 'provider') return null
    const returnUri = new URL('/', providers.redirectUri(provider)).href
    try {
      return (await providers.ask(provider, client => client.logoutUrl(returnUri)))?.href ?? null
    } catch (error) {
      if (!(error instanceof Fault && error.errorCode === providerUnavailable)) throw error
      signInLog.logoutFailed(name, error)
      return null
    }
  }
