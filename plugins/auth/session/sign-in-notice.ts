// The kind `superadmin_sign_in` of notifications.
import type { EntityManager } from '@mikro-orm/sql'
import ipaddr from 'ipaddr.js'
import { User } from '../../../kernel/identity/entities.ts'
import type { NoticeSource, Notices } from '../../http/exports.ts'

const quietMs = 90 * 24 * 3_600_000

export interface SignInNotice {
  readonly source: NoticeSource
  /** Raises a notification if a superadmin signs in from a network for the first time in 90 days. */
  signedIn(userId: string, remoteAddr: string, em: EntityManager): Promise<void>
}

export function openSignInNotice(): SignInNotice {
  let notices: Notices | null = null // without the plugin `notify`
  return {
    source: {
      isUrgent: true,
      summarize: count =>
        count === 1
          ? '1 superadmin has signed in from a new network'
          : `${count} sign-ins of superadmins from new networks`,
      connect(connected) {
        notices = connected
      }
    },
    async signedIn(userId, remoteAddr, em) {
      if (!notices) return
      const user = await em.findOne(User, { id: userId })
      if (user?.role !== 'superadmin') return
      const network = shownNetworkOf(remoteAddr)
      const name = `${userId} from ${network}`
      await notices.raise({ object: `${userId} ${network}`, name, owner: null, quietMs }, em)
    }
  }
}

/** Returns the IPv4 /24 or the IPv6 /48 of an address. */
export function shownNetworkOf(remoteAddr: string): string {
  if (!ipaddr.isValid(remoteAddr)) return remoteAddr
  const address = ipaddr.process(remoteAddr)
  return address.kind() === 'ipv4'
    ? `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/24`)}/24`
    : `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/48`)}/48`
}
