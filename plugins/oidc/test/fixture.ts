// A server with a provider, and browsers that sign in there.
import type { Test } from 'tap'
import type { Reply, TestServer, TestServerOptions } from '../../../kit/test-server.ts'
import { onboardedServer, origin, unauthenticated } from '../../auth/test/fixture.ts'
import { type ScriptedProvider, scriptedProvider } from './scripted-provider.ts'

export const plugins = [
  'users',
  'auth',
  'audit',
  'credentials',
  'secrets',
  'second-factor',
  'metrics',
  'advertised-endpoint',
  'certificate',
  'cli',
  'clients',
  'rules',
  'grants',
  'doctor',
  'oidc'
]

export interface Body {
  readonly redirect: string
  readonly return_to: string
  readonly secret: string
  readonly user_id: string
  readonly providers: readonly object[]
  readonly error: { readonly code: string; readonly message: string }
}

type Headers = Readonly<Record<string, string>>

/** The configuration of a provider, as the checked one has its defaults. */
export const settings = (issuer: string, more: object = {}) => ({
  providers: {
    corp: { issuer, client_id: 'sluice', ...more }
  }
})

export async function oidcServer(t: Test, more: object = {}, options: TestServerOptions = {}) {
  const provider = await scriptedProvider(t)
  const app = await onboardedServer(t, {
    plugins,
    ...options,
    sections: { oidc: settings(provider.issuer, more) }
  })
  return { app, provider }
}

/** A browser with a jar of cookies. It sends the proof of its origin, and a session key if there is one. */
export interface Browser {
  readonly cookies: Map<string, string>
  send(method: 'GET' | 'POST' | 'DELETE', url: string, body?: object, headers?: Headers): Promise<Reply<Body>>
  /** Begins a sign-in. Returns the address of the provider. */
  begin(body?: object): Promise<string>
  /** Brings an answer of the provider to the page, which finishes. Returns where it then goes; a refusal is `/#error=CODE`. */
  finish(answer: URLSearchParams, name?: string): Promise<string>
  /** Signs in. */
  signIn(provider: ScriptedProvider): Promise<string>
}

export function openBrowser(
  app: TestServer,
  key: string | null = 'k'.repeat(32),
  remoteAddr = '127.0.0.1'
): Browser {
  const cookies = new Map<string, string>()
  const ofPage = { origin, 'x-svc-csrf': '1', ...(key !== null && { 'x-svc-session-key': key }) }

  const request = async (
    method: Parameters<Browser['send']>[0],
    url: string,
    headers: Headers,
    body?: object
  ) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await app.call<Body>(method, url, body, {
      ...unauthenticated,
      'x-forwarded-for': remoteAddr,
      ...headers,
      cookie
    })
    for (const given of [reply.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(String(given)) ?? []
      if (/max-age=0/i.test(String(given))) cookies.delete(name)
      else cookies.set(name, value)
    }
    return reply
  }

  const send: Browser['send'] = (method, url, body, headers = {}) =>
    request(method, url, { ...ofPage, ...headers }, body)

  const begin: Browser['begin'] = async (body = {}) => {
    const { status, body: made, text } = await send('POST', '/v1/auth/oidc/corp/start', body)
    if (status !== 200) throw new Error(`the sign-in does not begin: ${text}`)
    return made.redirect
  }

  /** A navigation cannot have the headers of a page. */
  const finish: Browser['finish'] = async (answer, name = 'corp') => {
    const url = `/v1/auth/oidc/${name}/callback?${answer}`
    const { status, headers, text } = await request('GET', url, { 'sec-fetch-site': 'cross-site' })
    if (status !== 302) throw new Error(`the callback answers ${status}: ${text}`)
    const [at, parameters = ''] = String(headers['location']).split(`#oidc=${name}&`)
    if (at !== '/') throw new Error(`the callback leads to ${headers['location']}`)
    const { body } = await send('POST', `/v1/auth/oidc/${name}/finish`, { answer: parameters })
    return body.error ? `/#error=${body.error.code}` : body.return_to
  }

  return { cookies, send, begin, finish, signIn: async provider => finish(provider.authorize(await begin())) }
}
