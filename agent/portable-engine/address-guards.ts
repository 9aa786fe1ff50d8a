import { addressForms } from '../../kernel/platform/address-forms.ts'
import type { Filters } from '../engine/engine.ts'
import type { AddressGuard } from '../engine/source-guard.ts'
import type { AddressSet } from '../net/address-set.ts'

export interface CompiledGuard extends Pick<AddressGuard, 'live' | 'refusal'> {
  readonly sets: readonly AddressSet[]
  /** Takes a canonical address. */
  refuses(address: string): boolean
}

/** Returns the reason of the first guard that refuses a canonical address, or null. */
export const refusalBy = (guards: readonly CompiledGuard[], address: string): string | null =>
  guards.find(({ refuses }) => refuses(address))?.refusal ?? null

export const compileGuards = (
  { addressGuards }: Filters,
  setOf: (name: string) => AddressSet
): CompiledGuard[] =>
  addressGuards.map(({ allow, deny, live, refusal }) => {
    const denied = deny.map(setOf)
    const allowed = allow?.map(setOf)
    const includes = (sets: readonly AddressSet[], address: string) => sets.some(set => set.contains(address))
    const isDenied = (form: string): boolean =>
      includes(denied, form) || (allowed !== undefined && !includes(allowed, form))
    return {
      live,
      refusal,
      sets: [...denied, ...(allowed ?? [])],
      refuses: address => addressForms(address).some(isDenied)
    }
  })
