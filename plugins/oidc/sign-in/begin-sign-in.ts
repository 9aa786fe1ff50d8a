import { Fault, invalidSchema, unauthenticated } from '../../../kernel/base/errors.ts'
import type { RequestInfo } from '../../../kernel/http/principal.ts'
import type { Call } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SignIn } from '../../auth/exports.ts'
import { bootstrapRequired } from '../../http/exports.ts'
import type { Provider } from '../provider/provider-config.ts'
import type { Providers } from '../provider/providers.ts'
import { returnAddress } from './return-address.ts'
import type { SignInLog } from './sign-in-log.ts'
import { type Purpose, type States, stateCookie, stateSecs } from './states.ts'

interface Wish {
  readonly return_to?: string // default: /
  readonly kind: Purpose['kind']
}

/** Begins a sign-in: sets the cookie of its state, and returns the address of the provider. */
export type BeginSignIn = (
  provider: Provider,
  wish: Wish,
  call: Pick<Call, 'requestInfo' | 'setCookie'>
) => Promise<string>

interface Deps extends Kernel {
  readonly signIn: SignIn
  readonly providers: Providers
  readonly states: States
  readonly signInLog: SignInLog
}

function requireKey(keyHash: string | null): string {
  if (keyHash !== null) return keyHash
  throw new Fault(invalidSchema, 'the header X-Svc-Session-Key is required: the session is bound to it', {
    details: { field: 'X-Svc-Session-Key', reason: 'required' }
  })
}

export function openBeginSignIn({
  store,
  identity,
  signIn,
  providers,
  states,
  signInLog
}: Deps): BeginSignIn {
  /** Throws `validation.schema` without a key, and `unauthenticated` without a session or its key. */
  async function purposeOf({ kind }: Wish, info: RequestInfo): Promise<Purpose> {
    if (kind === 'sign-in') return { kind, keyHash: requireKey(signIn.keyHash(info)) }
    const session = await store.read(em => signIn.current(em, info))
    if (session) return { kind, ...session }
    throw new Fault(unauthenticated, 'only a web session can be confirmed; sign in')
  }

  return async (provider, wish, { requestInfo, setCookie }) => {
    if (!(await identity.isBootstrapped()))
      throw new Fault(bootstrapRequired, 'there is no superadmin yet; finish the onboarding first')
    const redirectUri = providers.redirectUri(provider)
    const returnTo = returnAddress(wish.return_to ?? '/', new URL(redirectUri).origin)
    const purpose = await purposeOf(wish, requestInfo)
    const { proofs, address } = await providers
      .ask(provider, async client => {
        const proofs = client.newProofs()
        const request = { ...proofs, redirectUri, mustProve: purpose.kind === 'reauthenticate' }
        return { proofs, address: await client.authorizationUrl(request) }
      })
      .catch((error: unknown) => {
        signInLog.failed(provider.name, error)
        throw error
      })
    const cookie = await states.seal({ ...proofs, provider: provider.name, returnTo, purpose })
    setCookie(stateCookie, cookie, stateSecs)
    return address.href
  }
}
