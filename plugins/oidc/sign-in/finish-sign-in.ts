// The answer of a provider, which the page brings that has begun the sign-in: verified, and then a session. A navigation is
// not enough: another port of this host can plant the cookie of the state, and reads the cookie of the session.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, userDisabled } from '../../../kernel/base/errors.ts'
import type { Call, FieldChange } from '../../../kernel/http/route.ts'
import { isSame } from '../../../kernel/identity/secret.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SignIn } from '../../auth/exports.ts'
import type { NamedResource, RecordAs } from '../../http/exports.ts'
import type { Users } from '../../users/exports.ts'
import { notAllowed, stateInvalid, tokenInvalid } from '../codes.ts'
import type { Identities } from '../identities.ts'
import type { Claims } from '../provider/provider-client.ts'
import type { Provider } from '../provider/provider-config.ts'
import type { Providers } from '../provider/providers.ts'
import { sidOf } from './back-channel-logout.ts'
import type { GroupRights } from './group-rights.ts'
import { actor } from './groups.ts'
import type { Purpose, SessionPurpose, SignInState, States } from './states.ts'
import type { UserOfClaims } from './user-of-claims.ts'

type FinishCall = Pick<Call, 'requestInfo' | 'setCookie' | 'change'>

/** Judges the answer of a provider. Returns the address to go to, or throws the refusal. */
export type FinishSignIn = (provider: Provider, answer: URLSearchParams, call: FinishCall) => Promise<string>

interface Deps extends Kernel {
  readonly signIn: SignIn
  readonly providers: Providers
  readonly states: States
  readonly identities: Identities
  readonly userOfClaims: UserOfClaims
  readonly groupRights: GroupRights
  readonly users: Users
  readonly recordAs: RecordAs
}

export const openFinishSignIn =
  (deps: Deps): FinishSignIn =>
  async (provider, answer, call) => {
    const { providers, states } = deps
    const state = states.find(provider.name, answer.get('state'), call.requestInfo)
    const { purpose, returnTo } = state
    await requirePage(deps, purpose, call)
    const request = {
      ...state,
      redirectUri: providers.redirectUri(provider),
      mustProve: purpose.kind === 'reauthenticate'
    }
    const claims = await providers.ask(provider, client => client.claims(answer, request))
    const verified = { provider, claims, state }
    if (purpose.kind === 'sign-in')
      await openSession(deps, { ...verified, keyHash: purpose.keyHash }, call).catch(
        async (error: unknown) => {
          if (error instanceof Fault && error.errorCode === notAllowed) await endRights(deps, verified, call)
          throw error
        }
      )
    else if (purpose.kind === 'link') await link(deps, verified, purpose, call)
    else await confirm(deps, verified, purpose, call)
    return returnTo
  }

/** Throws `oidc_state_invalid` for another page than that of the start, or another session. */
async function requirePage({ store, signIn }: Deps, purpose: Purpose, { requestInfo }: FinishCall) {
  const isSamePage =
    purpose.kind === 'sign-in'
      ? isSame(signIn.keyHash(requestInfo) ?? '', purpose.keyHash)
      : (await store.read(em => signIn.current(em, requestInfo)))?.sessionId === purpose.sessionId
  if (!isSamePage) throw new Fault(stateInvalid, 'another page or session has begun the sign-in; start again')
}

interface Verified {
  readonly provider: Provider
  readonly claims: Claims
  readonly state: SignInState
}

interface NewSession extends Verified {
  readonly keyHash: string // of the page's key
}

async function openSession(
  { signIn, states, userOfClaims }: Deps,
  { provider, claims, state, keyHash }: NewSession,
  { change, requestInfo, setCookie }: FinishCall
): Promise<void> {
  const factors = isStrong(provider, claims) ? ['oidc', 'mfa'] : ['oidc']
  const changes = (): readonly FieldChange[] => [
    { field: 'method', from: null, to: `oidc:${provider.name}` },
    { field: 'factors', from: null, to: factors }
  ]
  const cookies: Parameters<Call['setCookie']>[] = []
  const { name, session_max_secs: maxAgeSecs } = provider
  const sid = typeof claims['sid'] === 'string' ? sidOf(claims.iss, claims['sid']) : undefined
  await change(
    (id: string) => ({ kind: 'user', id, changes }),
    async em => {
      await states.spend(em, state, requestInfo.remoteAddr)
      const userId = await userOfClaims.find(em, provider, claims)
      const signedIn = { userId, method: 'oidc', factors, keyHash, provider: { name, maxAgeSecs, sid } }
      await signIn.start(em, signedIn, { requestInfo, setCookie: (...cookie) => cookies.push(cookie) })
      return userId
    }
  )
  for (const cookie of cookies.slice(-1)) setCookie(...cookie) // after the commit: a refusal leaves an earlier session
}

/** Ends what groups gave to a user without allowed groups: no later sign-in tells more. */
async function endRights(
  { store, users, identities, groupRights }: Deps,
  { provider, claims }: Verified,
  { change }: FinishCall
): Promise<void> {
  const identity = await store.read(em => identities.find(em, claims))
  if (identity === null) return
  const { userId: id } = identity
  const refused: NamedResource = { kind: 'user', id, refusal: notAllowed }
  await change(refused, async em => groupRights.end(em, await users.get(em, id), provider.name))
}

/** A provider session counts as two factors if the provider is trusted to ask for two, or says that it has. */
const isStrong = ({ trust_mfa }: Provider, { amr }: Claims): boolean =>
  trust_mfa || (Array.isArray(amr) && amr.some(method => ['mfa', 'hwk', 'otp'].includes(method)))

async function confirm(
  { signIn, states, identities }: Deps,
  { provider, claims, state }: Verified,
  { sessionId, userId }: SessionPurpose,
  { change, requestInfo }: FinishCall
): Promise<void> {
  await change({ kind: 'user', id: userId }, async (em: EntityManager) => {
    await states.spend(em, state, requestInfo.remoteAddr)
    const identity = await identities.find(em, claims)
    if (identity?.userId !== userId)
      throw new Fault(tokenInvalid, 'the provider has confirmed somebody else than the user of the session')
    if (!(await signIn.refresh(em, sessionId, 'oidc')))
      throw new Fault(stateInvalid, 'the session has ended; sign in')
    await identities.touch(em, identity.id, provider.name)
  })
}

/** Adds the identity to the user of the session. Throws `identity_taken` for that of another user. */
async function link(
  { users, states, identities, recordAs }: Deps,
  { provider, claims, state }: Verified,
  { userId }: SessionPurpose,
  { change, requestInfo }: FinishCall
): Promise<void> {
  await change({ kind: 'user', id: userId }, async em => {
    await states.spend(em, state, requestInfo.remoteAddr)
    const { disabled } = await users.get(em, userId)
    if (disabled) throw new Fault(userDisabled, `user ${userId} is disabled`)
    if ((await identities.find(em, claims))?.userId === userId) return
    const { iss, sub } = claims
    const { id } = await identities.insert(em, { userId, provider: provider.name, iss, sub })
    await recordAs(em, { actor, action: 'identity.create', resource: { kind: 'identity', id } })
  })
}
