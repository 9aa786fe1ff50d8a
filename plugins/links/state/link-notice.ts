// The kind `link_down` of notifications. `edge_away`, which has a grace, tells when a client of a link is away.
import type { EntityManager } from '@mikro-orm/sql'
import type { NoticeSource, Notices } from '../../http/exports.ts'
import type { JudgedState } from './judge-link.ts'

export interface LinkNotice {
  readonly source: NoticeSource
  /** Reports a link that is down, and ends this state for others. `name` says which two clients it joins. */
  judge(
    link: { readonly id: string; readonly name: string },
    next: JudgedState,
    em: EntityManager
  ): Promise<void>
  /** Call it for links that are deleted. */
  forget(ids: readonly string[], em: EntityManager): Promise<void>
}

export function openLinkNotice(): LinkNotice {
  let notices: Notices | null = null // without the plugin `notify`
  return {
    source: {
      isUrgent: true,
      summarize: count => (count === 1 ? '1 link is down' : `${count} links are down`),
      connect(connected) {
        notices = connected
      }
    },
    async judge({ id, name }, { state, reason }, em) {
      if (state === 'down' && reason !== 'peer_away')
        await notices?.begin({ object: id, name: `${name} (${reason})`, owner: null }, em)
      else await notices?.end(id, em)
    },
    async forget(ids, em) {
      for (const id of ids) await notices?.end(id, em)
    }
  }
}
