import { NextPin } from '../../agent/wire/next-pin.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { storeValue } from './certificate-pins.ts'
import { NextPinRow } from './entities.ts'

/** Asks each agent that joins to trust the staged certificate, too. */
export interface NextPins {
  /** Reads the staged certificate. It cannot change while the server runs. */
  load(): Promise<void>
  /** Announces the staged certificate, or that there is none any more, if the agent has not confirmed that yet. */
  joined(peer: Peer): void
}

export function openNextPins({ store, log }: Pick<Kernel, 'store' | 'log'>): NextPins {
  let next = '' // a fingerprint; '' if none is staged
  let mayBeStale = false // some agent may trust a certificate that is no longer staged

  async function load(): Promise<void> {
    await store.read(async em => {
      next = (await storeValue('next_leaf', em)) ?? ''
      mayBeStale = (await em.count(NextPinRow)) > 0
    })
  }

  function joined(peer: Peer): void {
    if (next === '' && !mayBeStale) return
    announce(peer).catch(error => {
      if (!peer.ended.aborted)
        log.warn(
          'certificate.next_pin_failed',
          `announced again when the agent reconnects: ${String(error)}`,
          {
            client_id: peer.clientId
          }
        )
    })
  }

  async function announce(peer: Peer): Promise<void> {
    const { clientId, tokenHash } = peer
    const known = await store.read(em => em.findOne(NextPinRow, { clientId, tokenHash }))
    if ((known?.fingerprint ?? '') === next) return
    const { fingerprint } = await peer.request(NextPin, { fingerprint: next })
    await peer.change(async em => {
      if (fingerprint === '') await em.nativeDelete(NextPinRow, { clientId })
      else await em.upsert(NextPinRow, { clientId, fingerprint, tokenHash })
    })
    log.info(
      'certificate.next_pin_confirmed',
      'the agent trusts the next certificate, or no longer trusts one',
      {
        client_id: clientId,
        fingerprint
      }
    )
  }

  return { load, joined }
}
