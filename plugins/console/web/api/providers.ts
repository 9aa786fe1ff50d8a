// Sign-in at providers. The browser leaves the page, and comes back to it.
import { useQuery } from '@tanstack/react-query'
import { call, type Reply } from './call.ts'

export type Provider = Reply<'GET /v1/auth/providers'>['providers'][number]

/** Without the plugin there are no providers, and passwords. */
const none: Reply<'GET /v1/auth/providers'> = { password: true, passkey: false, providers: [] }

export const useWaysToSignIn = (): typeof none =>
  useQuery({
    queryKey: ['providers'],
    queryFn: () => call('GET /v1/auth/providers').catch(() => none),
    staleTime: 60_000
  }).data ?? none

/** Goes to the provider. Does not resolve if that works. */
async function goTo({ redirect }: { readonly redirect: string }): Promise<void> {
  location.assign(redirect)
  await new Promise(() => {})
}

/** Brings the answer of the provider to the server. Does not resolve if that works. */
export async function finishAt(name: string, answer: string): Promise<void> {
  const { return_to } = await call('POST /v1/auth/oidc/{name}/finish', { path: { name }, body: { answer } })
  location.replace(return_to)
  await new Promise(() => {})
}

const here = (): string => location.pathname + location.search

export const signInAt = async (name: string): Promise<void> =>
  goTo(await call('POST /v1/auth/oidc/{name}/start', { path: { name }, body: { return_to: here() } }))

/** The provider asks the user again, and the session is then fresh. */
export const confirmAt = async (name: string): Promise<void> =>
  goTo(
    await call('POST /v1/auth/oidc/{name}/start', {
      path: { name },
      body: { return_to: here(), reauthenticate: true }
    })
  )

/** Adds an identity of the provider to the account. */
export const linkAt = async (name: string): Promise<void> =>
  goTo(
    await call('POST /v1/users/me/identities/{name}/start', { path: { name }, body: { return_to: here() } })
  )
