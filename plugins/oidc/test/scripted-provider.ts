// A provider that a test scripts: it signs each answer as the test says, also wrongly.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { Test } from 'tap'

type Claims = Readonly<Record<string, unknown>>
type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface ScriptedProvider {
  readonly issuer: string
  /** Requests so far, as 'GET /keys'. */
  readonly requests: string[]
  /** Claims of the next ID token, beside the usual ones. */
  claims: Claims
  /** Makes the next ID tokens, instead of a valid one. */
  token: ((claims: Claims) => Promise<string>) | null
  /** Answers the requests for these paths, instead of the usual answers. */
  readonly answers: Map<string, Answer>
  metadata: Claims
  /** Signs with the published key. */
  sign(claims: Claims, header?: Claims): Promise<string>
  /** Replaces the key. */
  rotate(): Promise<void>
  /** Returns the public key. */
  publicKey(): JWK
  /** Takes the address of a sign-in. Returns the parameters that the browser brings back; `code` tells sign-ins apart. */
  authorize(address: string, more?: Readonly<Record<string, string>>): URLSearchParams
}

export async function scriptedProvider(t: Test): Promise<ScriptedProvider> {
  const nonces = new Map<string, string>() // by code
  let key = await newKey(1)
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    provider.requests.push(`${request.method} ${path}`)
    const scripted = provider.answers.get(path)
    if (scripted) return scripted(request, response)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(await usual(path, await text(request))))
  }

  async function usual(path: string, body: string): Promise<object> {
    if (path === '/.well-known/openid-configuration') return provider.metadata
    if (path === '/keys') return { keys: [{ ...key.jwk, kid: key.kid, alg: 'RS256', use: 'sig' }] }
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      aud: 'sluice',
      sub: 'subject-1',
      iat: now,
      exp: now + 300,
      auth_time: now,
      nonce: nonces.get(new URLSearchParams(body).get('code') ?? ''),
      ...provider.claims
    }
    const id_token = await (provider.token ?? provider.sign)(claims)
    return { access_token: 'access-token-of-the-provider', token_type: 'Bearer', id_token }
  }

  const provider: ScriptedProvider = {
    issuer,
    requests: [],
    claims: {},
    token: null,
    answers: new Map(),
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true
    },
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: key.kid, ...header }).sign(key.privateKey),
    async rotate() {
      key = await newKey(Number(key.kid) + 1)
    },
    publicKey: () => key.jwk,
    authorize(address, more = {}) {
      const { searchParams } = new URL(address)
      const code = more['code'] ?? 'code-of-the-provider'
      nonces.set(code, searchParams.get('nonce') ?? '')
      return new URLSearchParams({
        code,
        state: searchParams.get('state') ?? '',
        iss: issuer,
        ...more
      })
    }
  }
  return provider
}

async function newKey(id: number) {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  return { privateKey, jwk: await exportJWK(publicKey), kid: String(id) }
}
