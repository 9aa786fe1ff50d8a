import { Credential, type Token } from '../../../kernel/identity/entities.ts'
import { openNetworks } from '../request/networks.ts'
import type { HttpOptions } from '../settings.ts'

const recordMs = 60_000 // a busy token costs one write a minute

/** Where a bearer token may be used, and the record of its use. */
export interface TokenUse {
  /** True for an address of `allowed_sources`. */
  isAllowed(token: Token, address: string): boolean
  /** Stores time and address, to the minute. Not called inside a transaction. */
  record(token: Token, address: string): Promise<void>
}

export function openTokenUse({ store, clock }: Pick<HttpOptions, 'store' | 'clock'>): TokenUse {
  const sources = new WeakMap<Token, (address: string) => boolean>() // the store caches tokens

  function sourcesOf(token: Token, networks: string): (address: string) => boolean {
    const found = sources.get(token) ?? openNetworks(networks.split(' '))
    sources.set(token, found)
    return found
  }

  return {
    isAllowed(token, address) {
      const { allowedSources } = token
      if (allowedSources == null) return true
      return address !== '' && sourcesOf(token, allowedSources)(address)
    },
    async record({ id, lastUsedAt }, address) {
      const now = clock.now()
      if (Math.abs(now - (lastUsedAt ?? 0)) < recordMs) return
      const lastUsedFrom = address.slice(0, 45) || null // longest address
      const use = { lastUsedAt: now, lastUsedFrom }
      await store.change(em => em.nativeUpdate(Credential, { id }, use))
    }
  }
}
