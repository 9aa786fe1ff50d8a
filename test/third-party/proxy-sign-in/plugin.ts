// Signs in the user whom a trusted proxy names in a header, after it has authenticated him: oauth2-proxy, an mTLS proxy.
import { BlockList, isIPv6 } from 'node:net'
import {
  type Act,
  type Authenticator,
  asFunction,
  authenticatorSlot,
  definePlugin,
  type Kernel,
  type Static,
  Type,
  type users
} from 'sluice/plugin'

const section = Type.Object(
  {
    header: Type.String({
      pattern: '^[a-z][a-z0-9-]{0,63}$',
      default: 'x-forwarded-user',
      description:
        'Name of the header with the user id, in lower case. The proxy must remove it from what callers send.'
    }),
    proxies: Type.Array(Type.String({ pattern: '^[0-9a-fA-F:.]+(/[0-9]{1,3})?$' }), {
      minItems: 1,
      description: 'Addresses or prefixes of the proxies whose header is believed.'
    }),
    creates: Type.Boolean({
      default: false,
      description: 'Makes a user, without the superadmin role, of a name that is new.'
    })
  },
  { additionalProperties: false }
)

interface Deps extends Kernel<typeof section> {
  readonly config: Static<typeof section>
  readonly act: Act
  readonly users: users.Users
  readonly signIn: Authenticator
}

/** Disabled users, and unknown ones that it may not make, are nobody: the caller gets 401. */
function openAuthenticator({ act, config, users }: Deps): Authenticator {
  const proxies = new BlockList()
  for (const proxy of config.proxies) {
    const [address = '', bits] = proxy.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    proxies.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  const create = (userId: string): Promise<void> =>
    act('_proxy-sign-in', 'user.create', ({ change }) =>
      change({ kind: 'user', id: userId }, async em => {
        if (await users.find(em, userId)) return // two first requests at once
        await users.insert(em, { userId, displayName: userId, role: 'user' })
      })
    )

  return async ({ headers, peerAddr }, em) => {
    const userId = headers[config.header]
    if (typeof userId !== 'string' || !proxies.check(peerAddr, isIPv6(peerAddr) ? 'ipv6' : 'ipv4'))
      return null
    const user = await users.find(em, userId)
    if (user?.disabled || (!user && !config.creates)) return null
    return {
      principal: { userId, role: user?.role ?? 'user', method: 'proxy_header' },
      requires: 'csrf', // as for a session cookie: a browser sends it by itself, through the proxy
      ...(!user && { admit: () => create(userId) })
    }
  }
}

export default definePlugin<Deps>({
  name: 'proxy-sign-in',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', users: '^1.0.0' },
  config: section,
  services: { signIn: asFunction(openAuthenticator).singleton() }, // made at the start: a bad prefix stops it
  fills: [authenticatorSlot.fillWith(({ signIn }: Deps) => signIn)]
})
