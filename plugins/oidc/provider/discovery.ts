// The discovery document and the keys of a provider.
import { createRemoteJWKSet, customFetch as keyFetch, type RemoteJWKSet } from 'jose'
import * as oidc from 'openid-client'
import { isSafe, type Provider } from './provider-config.ts'
import { type ProviderFetch, ProviderUnavailable } from './provider-fetch.ts'

const discoveryMs = 3_600_000
const failureMs = 5_000 // shorter than the Retry-After of `provider_unavailable`
const keysMs = 600_000
const unknownKeyMs = 60_000

export interface Discovered {
  readonly metadata: oidc.ServerMetadata
  readonly keys: RemoteJWKSet
  readonly at: number
}

interface Failure {
  readonly error: unknown
  readonly at: number
}

/**
 * Returns a function that reads the metadata of a provider once an hour. Concurrent sign-ins share one request. For 5 s after a
 * failure it rejects with the same error and sends none.
 */
export function openDiscovery(provider: Provider, fetch: ProviderFetch, now: () => number) {
  let discovered: Discovered | null = null
  let discovering: Promise<Discovered> | null = null
  let failure: Failure | null = null

  async function discover(): Promise<Discovered> {
    const metadata = await fetchMetadata(provider, fetch)
    discovered = { metadata, keys: openKeys(metadata, fetch), at: now() } // the library ages keys by the wall clock
    return discovered
  }

  return (): Promise<Discovered> => {
    if (discovered && now() - discovered.at < discoveryMs) return Promise.resolve(discovered)
    if (failure && now() - failure.at < failureMs) return Promise.reject(failure.error)
    discovering ??= discover()
      .catch((error: unknown) => {
        failure = { error, at: now() }
        throw error
      })
      .finally(() => {
        discovering = null
      })
    return discovering
  }
}

async function fetchMetadata(provider: Provider, fetch: ProviderFetch): Promise<oidc.ServerMetadata> {
  const issuer = new URL(provider.issuer)
  const found = await oidc
    .discovery(issuer, provider.client_id, undefined, undefined, {
      [oidc.customFetch]: fetch,
      ...(issuer.protocol === 'http:' && { execute: [oidc.allowInsecureRequests] })
    })
    .catch((error: unknown) => {
      throw unavailableIn(error) ?? new ProviderUnavailable(`the discovery failed: ${textOf(error)}`)
    })
  const metadata = found.serverMetadata()
  if (new URL(metadata.issuer).href !== issuer.href)
    throw new ProviderUnavailable('the discovery document is of another issuer')
  for (const key of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    if (!isUsable(metadata[key], metadata))
      throw new ProviderUnavailable(`the discovery document has no usable ${key}`)
  }
  return metadata
}

/** True for an address that is as safe as that of the issuer. */
export function isUsable(address: string | undefined, { issuer }: oidc.ServerMetadata): boolean {
  const url = URL.parse(address ?? '')
  return url !== null && isSafe(url) && (url.protocol !== 'http:' || issuer.startsWith('http:'))
}

const openKeys = (metadata: oidc.ServerMetadata, fetch: ProviderFetch): RemoteJWKSet =>
  createRemoteJWKSet(new URL(metadata.jwks_uri ?? ''), {
    cacheMaxAge: keysMs,
    cooldownDuration: unknownKeyMs,
    async [keyFetch](url, request) {
      const response = await fetch(url, request)
      if (response.status !== 200)
        throw new ProviderUnavailable(`the keys have the status ${response.status}`)
      return Response.json(await keysIn(response))
    }
  })

async function keysIn(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch (cause) {
    throw new ProviderUnavailable('the keys are no JSON', { cause })
  }
}

/** The libraries wrap errors of `fetch`. */
export function unavailableIn(error: unknown): ProviderUnavailable | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof ProviderUnavailable) return at
  return null
}

/** Returns the fixed texts of the libraries; their causes have values of tokens. */
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown')
