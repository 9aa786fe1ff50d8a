// Announces the endpoints to each agent that connects, and to all connected agents after a change.
import { Endpoints, severalEndpoints, welcomePart } from '../../agent/wire/endpoints.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Endpoint } from './endpoint.ts'

interface Deps extends Pick<Kernel, 'control' | 'codec' | 'log'> {
  readonly endpoint: Endpoint
}

export interface EndpointAnnouncer {
  /** Returns the part of Welcome; empty if there is no effective endpoint. */
  welcome(): Promise<Readonly<Record<string, Uint8Array>>>
  /** Sends the endpoints to all connected agents without waiting. Other agents get them when they connect. */
  announceToAll(): Promise<void>
}

export function openEndpointAnnouncer({ control, codec, log, endpoint }: Deps): EndpointAnnouncer {
  function announce(peer: Peer, endpoints: readonly string[]): void {
    peer.request(Endpoints, { endpoints: [...endpoints] }).catch(error => {
      if (!peer.ended.aborted)
        log.warn(
          'endpoint.announce_failed',
          `the agent did not accept the endpoints; they are announced again when it reconnects: ${String(error)}`,
          {
            client_id: peer.clientId
          }
        )
    })
  }

  return {
    async welcome() {
      const endpoints = await endpoint.announced()
      return endpoints ? { [welcomePart]: codec.encode(Endpoints, { endpoints: [...endpoints] }) } : {}
    },
    async announceToAll() {
      const endpoints = await endpoint.announced()
      if (endpoints)
        for (const peer of control.peers.all()) if (peer.can(severalEndpoints)) announce(peer, endpoints)
    }
  }
}
