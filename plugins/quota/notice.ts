// The kind `quota` of notifications.
import type { EntityManager } from '@mikro-orm/sql'
import type { Clients } from '../clients/exports.ts'
import type { NoticeSource, Notices } from '../http/exports.ts'
import type { Level } from './exports.ts'

export interface QuotaNotice {
  readonly source: NoticeSource
  /** Raises a notification for the owner of the quota. */
  reached(level: Level, em: EntityManager): Promise<void>
}

interface Deps {
  readonly clients: Pick<Clients, 'get'>
}

export function openQuotaNotice({ clients }: Deps): QuotaNotice {
  let notices: Notices | null = null // without the plugin `notify`
  return {
    source: {
      isUrgent: true,
      summarize: count =>
        count === 1 ? '1 quota has reached 80 % or 100 %' : `${count} quotas have reached 80 % or 100 %`,
      connect(connected) {
        notices = connected
      }
    },
    async reached({ userId, clientId, percent, periodEnd }, em) {
      if (!notices) return
      const client = await clients.get(clientId, em)
      const object = `${userId} ${clientId} ${periodEnd} ${percent}`
      const name = `${userId} on ${client.name} (${percent} %)`
      await notices.raise({ object, name, owner: userId }, em)
    }
  }
}
