import { addressForms } from '../../kernel/platform/address-forms.ts'
import type { Filter, Filters, Match } from '../engine/engine.ts'
import { familyOf, isOwnAddress } from './address.ts'
import { parsePrefixes } from './address-prefix.ts'

/** Checks a canonical address, its port and the DNS name of the target (null: none). Returns why it is refused, or null. */
export type FilterCheck = (address: string, port: number, host: string | null) => string | null

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

export function compileFilter({ allow, deny, refusal }: Filter): FilterCheck {
  const isDenied = compileMatches(deny)
  const matches = allow && compileMatches(allow)
  return (address, port, host) => {
    const isAllowed = (form: string): boolean =>
      !isDenied(form, port, host) && (!matches || matches(form, port, host))
    return addressForms(address).every(isAllowed) ? null : refusal
  }
}

/** True if one of them matches. Prefixes without a further condition cost one look-up. */
function compileMatches(all: readonly Match[]): Matcher {
  const bare = all.flatMap(match => (isBare(match) ? [match.cidr] : []))
  const prefixes = bare.length === 0 ? null : parsePrefixes(bare)
  const others = all.filter(match => !isBare(match)).map(compileMatch)
  return (address, port, host) =>
    prefixes?.check(address, familyOf(address)) || others.some(matches => matches(address, port, host))
}

const isBare = (match: Match): match is { readonly cidr: string } =>
  match.cidr !== undefined && match.host === undefined && match.ports === undefined && !match.isOwn

function compileMatch({ cidr, host: name, ports, isOwn = false }: Match): Matcher {
  const prefixes = cidr === undefined ? null : parsePrefixes([cidr])
  return (address, port, host) =>
    (prefixes === null || prefixes.check(address, familyOf(address))) &&
    (name === undefined || name === host) &&
    (ports === undefined || (port >= ports[0] && port <= ports[1])) &&
    (!isOwn || isOwnAddress(everyAddress, address))
}

const everyAddress = ['0.0.0.0', '::']
