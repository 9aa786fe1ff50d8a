// While a certificate is staged, every agent that joins is asked to trust it, too.

import { NextPin } from '../../agent/wire/next-pin.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { NextPinRow } from './entities.ts'
import { storeValue } from './pinned-certificate.ts'

export type NextPins = ReturnType<typeof openNextPins>

export function openNextPins({ store, log }: Pick<Kernel, 'store' | 'log'>) {
  let next = '' // cannot change while the server runs
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
        log.warn('certificate.next_not_told', `the agent is told when it reconnects: ${String(error)}`, {
          client_id: peer.clientId
        })
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
    log.info('certificate.next_told', 'the agent has confirmed the next certificate, or that there is none', {
      client_id: clientId,
      fingerprint
    })
  }

  return { load, joined }
}
