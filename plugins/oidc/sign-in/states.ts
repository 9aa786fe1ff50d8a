// The state of a sign-in, between its start and the answer of the provider. The browser has it, sealed, in a cookie.
import type { EntityManager } from '@mikro-orm/sql'
import { latest } from '../../../kernel/base/clock.ts'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import type { RequestInfo } from '../../../kernel/http/principal.ts'
import { hashOf, isSame } from '../../../kernel/identity/secret.ts'
import { networkOf } from '../../../kernel/platform/network.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Secrets } from '../../secrets/exports.ts'
import { stateInvalid } from '../codes.ts'
import { UsedState } from '../entities.ts'
import type { Proofs } from '../provider/provider-client.ts'
import { isLogoutToken } from './logout-tokens.ts'

export const stateCookie = 'svc_oidc'
export const stateSecs = 600
const maxCookies = 16 // pages on other ports of the host can plant some
const maxUsed = 20_000
const maxPerNetwork = 1_000 // a company can be behind one address

/** The purpose of a sign-in at a provider. */
export type Purpose = SignInPurpose | SessionPurpose

interface SignInPurpose {
  readonly kind: 'sign-in'
  readonly keyHash: string // of X-Svc-Session-Key at the start
}

/** For a session, which proves its user, or gets an identity for its user. */
export interface SessionPurpose {
  readonly kind: 'reauthenticate' | 'link'
  readonly sessionId: string
  readonly userId: string
}

export interface SignInState extends Proofs {
  readonly provider: string
  readonly returnTo: string
  readonly purpose: Purpose
  readonly expiresAt: number
}

export interface States {
  /** Returns the value of the cookie. */
  seal(state: Omit<SignInState, 'expiresAt'>): Promise<string>
  /** Returns the state of the browser with this parameter `state`. Throws `oidc_state_invalid`. */
  find(provider: string, parameter: string | null, requestInfo: RequestInfo): SignInState
  /** Uses the state up, in the transaction of what it is for. Throws `oidc_state_invalid` or `rate_limited`. */
  spend(em: EntityManager, state: SignInState, remoteAddr: string): Promise<void>
  /** Deletes the record of used states that are expired. */
  sweep(): Promise<void>
}

interface Deps extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly secrets: Secrets
}

export function openStates({ store, clock, log, secrets }: Deps): States {
  function openSealed(cookie: string): SignInState | null {
    try {
      return JSON.parse(secrets.open(Buffer.from(cookie, 'base64url').toString(), context))
    } catch {
      return null // it is not ours, or the key has changed
    }
  }

  /** Deletes expired rows first: the bounds are of those in force. */
  const spend: States['spend'] = async (em, { state, expiresAt }, remoteAddr) => {
    await em.nativeDelete(UsedState, { expiresAt: { $lte: latest(clock) } })
    const id = hashOf(state)
    if ((await em.count(UsedState, { id })) > 0) throw invalid()
    const network = networkOf(remoteAddr).slice(0, 64)
    const [all, own] = await Promise.all([
      em.count(UsedState, { $not: isLogoutToken }),
      em.count(UsedState, { network })
    ])
    if (all >= maxUsed || own >= maxPerNetwork)
      throw new Fault(rateLimited, 'too many sign-ins; try again in 10 minutes', {
        details: { retry_after_secs: stateSecs }
      })
    await em.insert(UsedState, { id, network, expiresAt })
  }

  return {
    async seal(state) {
      const text = JSON.stringify({ ...state, expiresAt: latest(clock) + stateSecs * 1000 })
      const sealed = await store.change(em => secrets.seal(text, context, em))
      return Buffer.from(sealed).toString('base64url')
    },

    find(provider, parameter, requestInfo) {
      const found = cookiesIn(requestInfo)
        .map(openSealed)
        .find(one => one && parameter !== null && isSame(hashOf(one.state), hashOf(parameter)))
      if (!found || found.provider !== provider || found.expiresAt <= latest(clock)) throw invalid()
      return found
    },

    spend,

    sweep: () =>
      store
        .change(async em => void (await em.nativeDelete(UsedState, { expiresAt: { $lte: latest(clock) } })))
        .catch(error => log.error('oidc.sweep_failed', String(error)))
  }
}

const context = 'oidc.state'

const invalid = (): Fault =>
  new Fault(stateInvalid, 'the sign-in is unknown, used, or older than 10 minutes; start again')

const cookiesIn = ({ headers }: RequestInfo): string[] =>
  String(headers['cookie'] ?? '')
    .split(';')
    .flatMap(cookie => /^\s*svc_oidc="?([\w-]+)/.exec(cookie)?.[1] ?? [])
    .slice(0, maxCookies)
