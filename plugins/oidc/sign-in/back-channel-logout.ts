// A provider ends sessions: https://openid.net/specs/openid-connect-backchannel-1_0.html
import { latest } from '../../../kernel/base/clock.ts'
import { Fault, reasonOf } from '../../../kernel/base/errors.ts'
import type { Call } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SignIn } from '../../auth/exports.ts'
import { invalidLogoutToken, providerUnavailable } from '../codes.ts'
import type { Identities } from '../identities.ts'
import type { Provider } from '../provider/provider-config.ts'
import type { Providers } from '../provider/providers.ts'
import { spendLogoutToken } from './logout-tokens.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'

/** Ends the session that a logout token names, or all of its subject at the provider. Throws `validation.logout_token`. */
export type BackChannelLogout = (
  provider: Provider,
  token: string,
  call: Pick<Call, 'change'>
) => Promise<void>

interface Deps extends Pick<Kernel, 'clock'> {
  readonly providers: Providers
  readonly identities: Identities
  readonly signIn: SignIn
}

export const openBackChannelLogout =
  ({ clock, providers, identities, signIn }: Deps): BackChannelLogout =>
  async (provider, token, { change }) => {
    const claims = await providers
      .ask(provider, client => client.logoutClaims(token))
      .catch((error: unknown) => {
        if (error instanceof Fault && error.errorCode === providerUnavailable) throw error
        throw invalid(reasonOf(error))
      })
    const { jti, sid, sub, iss } = required(claims)
    await change({ kind: 'provider', id: provider.name }, async em => {
      const isFirst = await spendLogoutToken(em, { provider: provider.name, jti }, latest(clock))
      if (!isFirst) throw invalid('it was used before')
      const userId = sub === null ? undefined : (await identities.find(em, { iss, sub }))?.userId
      const { name } = provider
      if (sid !== null) await signIn.endOfProvider(em, { provider: name, sid: sidOf(iss, sid) })
      const which = sid === null ? 'all' : 'without sid' // its ID tokens may not tell the sid
      if (userId !== undefined) await signIn.endOfProvider(em, { provider: name, userId, which })
    })
  }

/** Names a session of all providers. */
export const sidOf = (issuer: string, sid: string): string => `${issuer}\n${sid}`

interface LogoutClaims {
  readonly iss: string
  readonly jti: string
  readonly sid: string | null
  readonly sub: string | null
}

/** Refuses other tokens of the provider: an ID token has a nonce, and no event. */
function required(claims: Readonly<Record<string, unknown>>): LogoutClaims {
  const { iss, jti, sid = null, sub = null, events, nonce } = claims
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
  const isTextOrNull = (value: unknown): value is string | null => value === null || isText(value)
  const isEvent = typeof events === 'object' && events !== null && event in events
  if (!isEvent) throw invalid('it has no event of a logout')
  if (nonce !== undefined) throw invalid('it has a nonce')
  if (!isText(iss) || !isText(jti)) throw invalid('it has no jti')
  if (!isTextOrNull(sid) || !isTextOrNull(sub) || (sid === null && sub === null))
    throw invalid('it has neither sid nor sub')
  return { iss, jti, sid, sub }
}

const invalid = (reason: string): Fault =>
  new Fault(invalidLogoutToken, `the logout token is invalid: ${reason}`, {
    details: { field: '/logout_token', reason: 'format' }
  })
