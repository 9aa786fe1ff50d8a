import { addressForms } from '../../kernel/platform/address-forms.ts'
import type { Filter, Filters, Match } from '../engine/engine.ts'
import { familyOf, isOwnAddress } from './address.ts'
import { parsePrefix } from './address-prefix.ts'

/** Checks a canonical address, its port and the DNS name of the target (null: none). Returns why it is refused, or null. */
type FilterCheck = (address: string, port: number, host: string | null) => string | null

export interface CompiledFilters {
  readonly source: FilterCheck
  readonly target: FilterCheck
}

/** Compiles the filters of a rule. Throws EngineFault EINVAL for an invalid address prefix. */
export function compileFilters({ source, target }: Pick<Filters, 'source' | 'target'>): CompiledFilters {
  const checks = target.map(compileFilter)
  return {
    source: source ? compileFilter(source) : () => null,
    target(address, port, host) {
      for (const check of checks) {
        const refusal = check(address, port, host)
        if (refusal !== null) return refusal
      }
      return null
    }
  }
}

type Matcher = (address: string, port: number, host: string | null) => boolean

function compileFilter({ allow, deny, refusal }: Filter): FilterCheck {
  const denied = deny.map(compileMatch)
  const allowed = allow?.map(compileMatch)
  return (address, port, host) => {
    const isAllowed = (form: string): boolean => {
      const matches = (matcher: Matcher) => matcher(form, port, host)
      return !denied.some(matches) && (!allowed || allowed.some(matches))
    }
    return addressForms(address).every(isAllowed) ? null : refusal
  }
}

function compileMatch({ cidr, host: name, ports, isOwn = false }: Match): Matcher {
  const prefix = cidr === undefined ? null : parsePrefix(cidr)
  return (address, port, host) =>
    (prefix === null || prefix.check(address, familyOf(address))) &&
    (name === undefined || name === host) &&
    (ports === undefined || (port >= ports[0] && port <= ports[1])) &&
    (!isOwn || isOwnAddress(everyAddress, address))
}

const everyAddress = ['0.0.0.0', '::']
