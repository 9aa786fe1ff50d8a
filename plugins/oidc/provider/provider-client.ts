// The protocol, with the libraries. Loads slowly; only servers with providers need it.
import { jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import { Fault } from '../../../kernel/base/errors.ts'
import { denied, stateInvalid, tokenInvalid } from '../codes.ts'
import { type Discovered, isUsable, openDiscovery, textOf, unavailableIn } from './discovery.ts'
import { type Provider, secretOf } from './provider-config.ts'
import { type ProviderFetch, ProviderUnavailable } from './provider-fetch.ts'

const toleranceSecs = 30
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']

/** The secrets of one sign-in. */
export interface Proofs {
  readonly state: string
  readonly nonce: string
  readonly verifier: string // of PKCE
}

interface Authorization extends Proofs {
  readonly redirectUri: string
  readonly mustProve: boolean // the provider asks the user again
}

export type Claims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string }

/** Talks to one provider. Throws Fault, or ProviderUnavailable. */
export interface ProviderClient {
  readonly provider: Provider
  newProofs(): Proofs
  /** Returns the address at which the user signs in. */
  authorizationUrl(request: Authorization): Promise<URL>
  /** Returns the address at which the user signs out, and comes back from to `returnUri`; null if the provider has none. */
  logoutUrl(returnUri: string): Promise<URL | null>
  /** Exchanges the code in the answer of the provider, and returns the claims of the verified ID token. */
  claims(answer: URLSearchParams, request: Authorization): Promise<Claims>
  /** Asks with a code that does not exist. Returns true if the provider refuses the client, and not only the code. */
  refusesSecret(redirectUri: string): Promise<boolean>
  /** Returns the verified claims of a logout token. Throws Fault for a wrong one. */
  logoutClaims(token: string): Promise<Readonly<Record<string, unknown>>>
}

interface Options {
  readonly provider: Provider
  readonly fetch: ProviderFetch
  readonly now: () => number // monotonic, in ms
}

export function openProviderClient({ provider, fetch, now }: Options): ProviderClient {
  const current = openDiscovery(provider, fetch, now)

  return {
    provider,

    newProofs: () => ({
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier()
    }),

    async authorizationUrl({ state, nonce, verifier, redirectUri, mustProve }) {
      const { metadata } = await current()
      return oidc.buildAuthorizationUrl(configurationOf(provider, metadata, oidc.None()), {
        redirect_uri: redirectUri,
        scope: provider.scopes,
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(provider.acr_values !== undefined && { acr_values: provider.acr_values }),
        ...(mustProve && { prompt: 'login', max_age: '0' })
      })
    },

    logoutUrl: async returnUri => logoutUrl(provider, await current(), returnUri),

    async claims(answer, { state, nonce, verifier, redirectUri, mustProve }) {
      const { metadata, keys } = await current()
      refuseOtherIssuer(answer, metadata)
      if (answer.has('error')) throw new Fault(denied, 'the provider or the user refused the sign-in')
      const configuration = configurationOf(provider, metadata, authenticationOf(provider, metadata))
      configuration[oidc.customFetch] = fetch
      const url = new URL(`${redirectUri}?${answer}`)
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier }
      try {
        const tokens = await oidc.authorizationCodeGrant(configuration, url, {
          ...checks,
          idTokenExpected: true,
          ...(mustProve && { maxAge: 0 })
        })
        return claimsIn(await verified(tokens.id_token ?? '', provider, { metadata, keys }))
      } catch (error) {
        throw refusalFor(error)
      }
    },

    refusesSecret: async redirectUri => refusesSecret(await current(), { provider, fetch, redirectUri }),

    logoutClaims: async token =>
      verified(token, provider, await current()).catch((error: unknown) => {
        throw refusalFor(error)
      })
  }
}

function logoutUrl(provider: Provider, { metadata }: Discovered, returnUri: string): URL | null {
  if (!isUsable(metadata.end_session_endpoint, metadata)) return null
  const configuration = configurationOf(provider, metadata, oidc.None())
  return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnUri })
}

interface SecretProbe extends Pick<Options, 'provider' | 'fetch'> {
  readonly redirectUri: string
}

async function refusesSecret(
  { metadata }: Discovered,
  { provider, fetch, redirectUri }: SecretProbe
): Promise<boolean> {
  const configuration = configurationOf(provider, metadata, authenticationOf(provider, metadata))
  configuration[oidc.customFetch] = fetch
  const code = oidc.randomState()
  const request = { code, redirect_uri: redirectUri, code_verifier: oidc.randomPKCECodeVerifier() }
  try {
    await oidc.genericGrantRequest(configuration, 'authorization_code', request)
    return false
  } catch (error) {
    const unavailable = unavailableIn(error)
    if (unavailable) throw unavailable
    return isClientRefusal(error)
  }
}

function configurationOf(
  { client_id: id }: Provider,
  metadata: oidc.ServerMetadata,
  authentication: oidc.ClientAuth
): oidc.Configuration {
  const configuration = new oidc.Configuration(metadata, id, {}, authentication)
  if (metadata.issuer.startsWith('http:')) oidc.allowInsecureRequests(configuration) // checked: on loopback
  return configuration
}

/** Returns the claims of a token that the provider has signed for us, at most 5 minutes ago. */
async function verified(
  token: string,
  { client_id: audience }: Provider,
  { metadata: { issuer }, keys }: Pick<Discovered, 'metadata' | 'keys'>
): Promise<Readonly<Record<string, unknown>>> {
  const clockTolerance = toleranceSecs
  const checks = { algorithms, issuer, audience, clockTolerance, maxTokenAge: '5 minutes' }
  return (await jwtVerify(token, keys, checks)).payload
}

/** Reads the secret again for each sign-in, so that a new one in the file works at once. */
function authenticationOf(provider: Provider, metadata: oidc.ServerMetadata): oidc.ClientAuth {
  const secret = currentSecret(provider)
  if (secret === null) return oidc.None()
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const isBasic = methods.includes('client_secret_basic')
  return isBasic ? oidc.ClientSecretBasic(secret) : oidc.ClientSecretPost(secret)
}

function currentSecret(provider: Provider): string | null {
  try {
    return secretOf(provider)
  } catch (cause) {
    throw new ProviderUnavailable(`the client secret cannot be read: ${textOf(cause)}`, { cause })
  }
}

/** See RFC 9207: another provider must not answer in the name of this one. */
function refuseOtherIssuer(answer: URLSearchParams, metadata: oidc.ServerMetadata): void {
  const issuer = answer.get('iss')
  if (issuer === null && metadata.authorization_response_iss_parameter_supported !== true) return
  if (issuer !== metadata.issuer)
    throw new Fault(stateInvalid, 'the answer names another issuer, or none; start again')
}

function claimsIn(payload: Readonly<Record<string, unknown>>): Claims {
  const { iss, sub } = payload
  if (typeof iss === 'string' && typeof sub === 'string' && /^[\x20-\x7e]{1,255}$/.test(sub))
    return { ...payload, iss, sub }
  throw new Fault(tokenInvalid, 'sub of the ID token must have 1 to 255 characters of ASCII')
}

function refusalFor(error: unknown): Error {
  if (error instanceof Fault) return error
  return unavailableIn(error) ?? new Fault(tokenInvalid, textOf(error))
}

/** Providers answer with the error `invalid_client` or the status 401 (RFC 6749, 5.2). */
const isClientRefusal = (error: unknown): boolean =>
  error instanceof oidc.WWWAuthenticateChallengeError ||
  (error instanceof oidc.ResponseBodyError && (error.error === 'invalid_client' || error.status === 401))
