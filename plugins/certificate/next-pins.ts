import { NextPin } from '../../agent/wire/next-pin.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { storeValue } from './certificate-pins.ts'
import { NextPinRow } from './entities.ts'

/** Announces the next certificate to agents, so that they trust it before it replaces the current one. */
export interface NextPins {
  /** Reads the next certificate from the store. */
  load(): Promise<void>
  /**
   * Announces the next certificate or its removal, unless the agent has already confirmed it. Resolves when it has confirmed,
   * or after it has logged a failure.
   */
  announceTo(peer: Peer): Promise<void>
  /** The server has switched to the next certificate. Agents of older streams must not forget it. */
  switched(): void
}

export function openNextPins({ store, log }: Pick<Kernel, 'store' | 'log'>): NextPins {
  let next = '' // fingerprint of the next certificate; '' if none is staged
  let mayBeTrusted = false // some agent may trust a next certificate, perhaps one that is no longer staged

  async function load(): Promise<void> {
    await store.read(async em => {
      next = (await storeValue('next_leaf', em)) ?? ''
      mayBeTrusted = (await em.count(NextPinRow)) > 0
    })
  }

  async function announceTo(peer: Peer): Promise<void> {
    if (next === '' && !mayBeTrusted) return
    await requestConfirmation(peer, next).catch(error => {
      if (!peer.ended.aborted)
        log.warn(
          'certificate.next_pin_failed',
          `the agent did not confirm the next certificate; it is announced again on reconnect: ${String(error)}`,
          {
            client_id: peer.clientId
          }
        )
    })
  }

  async function requestConfirmation(peer: Peer, next: string): Promise<void> {
    const { clientId, tokenHash } = peer
    const confirmed = await store.read(em => em.findOne(NextPinRow, { clientId, tokenHash }))
    if ((confirmed?.fingerprint ?? '') === next) return
    const { fingerprint } = await peer.request(NextPin, { fingerprint: next })
    await peer.change(async em => {
      if (fingerprint === '') await em.nativeDelete(NextPinRow, { clientId })
      else await em.upsert(NextPinRow, { clientId, fingerprint, tokenHash })
    })
    log.info(
      'certificate.next_pin_confirmed',
      fingerprint === ''
        ? 'the agent no longer trusts a next certificate'
        : 'the agent trusts the next certificate',
      {
        client_id: clientId,
        fingerprint
      }
    )
  }

  function switched(): void {
    next = ''
    mayBeTrusted = false
  }

  return { load, announceTo, switched }
}
