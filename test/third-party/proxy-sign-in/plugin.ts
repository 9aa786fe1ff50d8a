// Signs in the user in a header of a trusted proxy, such as oauth2-proxy or an mTLS proxy.
import {
  type Authenticator,
  authenticatorSlot,
  definePlugin,
  type Kernel,
  openNetworks,
  Type,
  type users
} from 'sluice/plugin'

const section = Type.Object({
  header: Type.String({
    pattern: '^[a-z][a-z0-9-]{0,63}$',
    default: 'x-forwarded-user',
    description: 'Name of the header with the user id. The proxy must remove it from incoming requests.'
  }),
  proxies: Type.Array(Type.String(), { minItems: 1, description: 'Addresses or networks of the proxies.' }),
  creates: Type.Boolean({ default: false, description: 'Creates a user for an unknown name.' })
})

interface Deps extends Kernel<typeof section> {
  readonly users: users.Users
}

function openAuthenticator({ config: { header, proxies, creates }, users }: Deps): Authenticator {
  const isProxy = openNetworks(proxies)
  return async ({ headers, peerAddr }, em) => {
    const userId = headers[header]
    if (typeof userId !== 'string' || !isProxy(peerAddr)) return null // the next authenticator decides
    const requires = 'csrf' // the proxy adds the header to every request of a browser
    const makes = { by: '_proxy-sign-in', role: 'user' } as const
    return users.caller(em, { userId, method: 'proxy_header', requires, ...(creates && { makes }) })
  }
}

export default definePlugin<Deps>({
  name: 'proxy-sign-in',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { users: '^1.0.0' },
  config: section,
  fills: [authenticatorSlot.fillWith(openAuthenticator)]
})
