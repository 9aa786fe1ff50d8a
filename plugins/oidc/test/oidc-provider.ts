// The library `oidc-provider` as a provider on loopback, with users who sign in without a form.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Test } from 'tap'

export const clientSecret = 'secret-of-the-client-with-32-characters'

interface Account {
  readonly name?: string
  readonly groups?: readonly string[]
}

export interface RealProvider {
  readonly issuer: string
  readonly accounts: Map<string, Account>
  /** Chooses the account that signs in when a browser comes next. */
  choose(account: string): void
  /** Follows an address of a sign-in as a browser does, as this account. Returns where it leads back. */
  signIn(address: string, account: string): Promise<string>
}

export async function realProvider(t: Test, callback: string): Promise<RealProvider> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const accounts = new Map<string, Account>()
  let current = ''

  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'sluice',
        client_secret: clientSecret,
        redirect_uris: [callback],
        post_logout_redirect_uris: [new URL('/', callback).href],
        grant_types: ['authorization_code'],
        response_types: ['code']
      }
    ],
    scopes: ['openid', 'profile', 'email'],
    claims: { openid: ['sub', 'groups'], profile: ['name', 'preferred_username'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    cookies: { keys: ['key of the cookies'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, ...accounts.get(id) })
    }),
    async loadExistingGrant({ oidc }) {
      const { clientId = '' } = oidc.client ?? {}
      const { accountId = '' } = oidc.session ?? {}
      const grant = new provider.Grant({ clientId, accountId })
      grant.addOIDCScope('openid profile email')
      await grant.save()
      return grant
    }
  })

  const answer = provider.callback()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/interaction/')) return void answer(request, response)
    void provider.interactionFinished(request, response, { login: { accountId: current } })
  })

  async function signIn(address: string, account: string): Promise<string> {
    choose(account)
    const cookies = new Map<string, string>()
    let at = address
    while (at.startsWith(issuer)) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await fetch(at, { redirect: 'manual', headers: { cookie } })
      for (const given of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(given) ?? []
        cookies.set(name, value)
      }
      const next = response.headers.get('location')
      if (next === null) throw new Error(`${at} leads nowhere: ${response.status} ${await response.text()}`)
      at = new URL(next, at).href
    }
    return at
  }

  const choose = (account: string): void => {
    current = account
  }
  return { issuer, accounts, choose, signIn }
}
