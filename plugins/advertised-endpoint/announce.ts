// Tells agents where they can connect to: each that joins, and all when it changes.

import { Endpoints, severalEndpoints, welcomePart } from '../../agent/wire/endpoints.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Endpoint } from './endpoint.ts'

export type Announce = ReturnType<typeof openAnnounce>

interface Deps extends Pick<Kernel, 'control' | 'codec' | 'log'> {
  readonly endpoint: Endpoint
}

export function openAnnounce({ control, codec, log, endpoint }: Deps) {
  /** Returns the part of Welcome. */
  async function welcome(): Promise<Readonly<Record<string, Uint8Array>>> {
    const endpoints = await endpoint.told()
    return endpoints ? { [welcomePart]: codec.encode(Endpoints, { endpoints: [...endpoints] }) } : {}
  }

  /** Returns at once: whoever does not take it, or is away, is told when it connects. */
  async function toAll(): Promise<void> {
    const endpoints = await endpoint.told()
    if (endpoints)
      for (const peer of control.peers.all()) if (peer.can(severalEndpoints)) tell(peer, endpoints)
  }

  function tell(peer: Peer, endpoints: readonly string[]): void {
    peer.request(Endpoints, { endpoints: [...endpoints] }).catch(error => {
      if (!peer.ended.aborted)
        log.warn('endpoint.not_told', `the agent is told when it reconnects: ${String(error)}`, {
          client_id: peer.clientId
        })
    })
  }

  return { welcome, toAll }
}
