// The server sends the browser to ORIGIN/#oidc=NAME and the answer of a provider, or to ORIGIN/PATH#provider=NAME.
import { type ApiError, toApiError } from '../api/api-error.ts'
import { finishAt } from '../api/providers.ts'

const parameter = (name: string): string | null => new URLSearchParams(location.hash.slice(1)).get(name)

let refusal: ApiError | null = null

/** Brings the answer of a provider to the server, if the browser comes from there. Leaves the page if that works. */
export async function finishSignIn(): Promise<void> {
  const provider = parameter('oidc')
  if (provider === null) return
  const answer = location.hash.slice(location.hash.indexOf('&') + 1)
  history.replaceState(null, '', location.pathname + location.search)
  await finishAt(provider, answer).catch((error: unknown) => {
    refusal = toApiError(error)
  })
}

/** Returns the refusal of a sign-in at a provider, once. */
export function takeSignInError(): ApiError | null {
  const taken = refusal
  refusal = null
  return taken
}

/** Returns the provider that a link of another site has named. */
export const linkedProvider = (): string | null => parameter('provider')
