import { NextPin } from '../../agent/wire/next-pin.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { storeValue } from './certificate-pins.ts'
import { NextPinRow } from './entities.ts'

/** Announces the next certificate to agents, so that they trust it before it replaces the current one. */
export interface NextPins {
  /** Reads the next certificate from the store. It cannot change while the server runs. */
  load(): Promise<void>
  /** Announces the next certificate or its removal, unless the agent has already confirmed it. Logs a failure. */
  announceTo(peer: Peer): void
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

  function announceTo(peer: Peer): void {
    if (next === '' && !mayBeTrusted) return
    requestConfirmation(peer).catch(error => {
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

  async function requestConfirmation(peer: Peer): Promise<void> {
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

  return { load, announceTo }
}
