import type { Filters } from '../engine.ts'
import type { AddressSet } from '../net/address-set.ts'
import type { AddressGuard } from '../source-guard.ts'

export interface CompiledGuard extends Pick<AddressGuard, 'live' | 'refusal'> {
  readonly sets: readonly AddressSet[]
  /** Takes a canonical address. */
  refuses(address: string): boolean
}

export const compileGuards = (
  { addressGuards }: Filters,
  setOf: (name: string) => AddressSet
): CompiledGuard[] =>
  addressGuards.map(({ allow, deny, live, refusal }) => {
    const denied = deny.map(setOf)
    const allowed = allow?.map(setOf)
    const includes = (sets: readonly AddressSet[], address: string) => sets.some(set => set.contains(address))
    return {
      ...{ live, refusal, sets: [...denied, ...(allowed ?? [])] },
      refuses: address => includes(denied, address) || (allowed !== undefined && !includes(allowed, address))
    }
  })
