// Where a rule forwards to, as it is kept: one spelling for each host.
import { domainToASCII } from 'node:url'
import ipaddr from 'ipaddr.js'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import type { Target } from './entities.ts'

export const targetsEmpty = defineCode('validation.targets_empty', 400, 3)
export const targetsTooMany = defineCode('validation.targets_too_many', 400, 3)
export const targetsDuplicate = defineCode('validation.targets_duplicate', 400, 3)
export const targetHost = defineCode('validation.target_host', 400, 3)
export const targetCodes = [targetsEmpty, targetsTooMany, targetsDuplicate, targetHost]

const maxTargets = 8

interface Given {
  readonly host: string
  readonly port: number
  readonly priority?: number
}

export function parseTargets(given: readonly Given[]): Target[] {
  if (given.length === 0) refuse(targetsEmpty, '/targets', 'is empty; give 1 to 8 targets', 'minItems')
  if (given.length > maxTargets)
    refuse(targetsTooMany, '/targets', `has ${given.length} entries; ${maxTargets} are the most`, 'maxItems')
  const targets = given.map(({ host, port, priority }, at) => {
    return { host: parseHost(host, `/targets/${at}/host`), port, priority: priority ?? at }
  })
  const seen = new Map<string, number>()
  for (const [at, { host, port }] of targets.entries()) {
    const place = `${host} ${port}`
    const twin = seen.get(place)
    if (twin !== undefined)
      refuse(targetsDuplicate, `/targets/${at}`, `is ${host} port ${port}, as /targets/${twin} is`, 'unique')
    seen.set(place, at)
  }
  return targets
}

/** IPv4, IPv6 with or without brackets, or a DNS name. */
export function parseHost(host: string, field: string): string {
  const no = (why: string): never => refuse(targetHost, field, why, 'host')
  if (host.includes('%')) no('has a zone id, which means something on one machine only')
  const [, bracketed] = /^\[(.*)\]$/.exec(host) ?? []
  const text = bracketed ?? host
  if (ipaddr.IPv6.isValid(text) || (bracketed === undefined && ipaddr.IPv4.isValidFourPartDecimal(text)))
    return parseAddress(text, no)
  if (bracketed !== undefined) no('has brackets around what is no IPv6 address')
  return parseName(text, no)
}

function parseAddress(text: string, no: (why: string) => never): string {
  const address = ipaddr.process(colons(text)) // an IPv4-mapped one becomes IPv4
  if (address instanceof ipaddr.IPv6 && isCompatible(address))
    no('is an IPv4-compatible IPv6 address, a deprecated form; write the IPv4 address')
  const range = address.range()
  if (range === 'unspecified' || range === 'multicast' || range === 'broadcast')
    no(`is ${range === 'unspecified' ? 'an' : 'a'} ${range} address, which nothing answers at`)
  return address.toString()
}

/** Its last four bytes in hex: the parser reads ::1.2.3.4 as ::ffff:1.2.3.4. */
const colons = (address: string): string =>
  address.includes(':') ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address

/** RFC 4291, 2.5.5.1; :: and ::1 are none. */
const isCompatible = ({ parts }: ipaddr.IPv6): boolean =>
  parts.slice(0, 6).every(part => part === 0) && (parts[6] !== 0 || (parts[7] ?? 0) > 1)

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/
const numeric = /^(\d+|0x[0-9a-f]*)$/ // some resolvers read such a name as an address

function parseName(text: string, no: (why: string) => never): string {
  if (/[^\x20-\x7e]/.test(text)) {
    const ascii = domainToASCII(text)
    no(`is not ASCII${ascii === '' ? '' : `; write ${ascii}`}`)
  }
  const name = text.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (/:\d+$/.test(name)) no('holds a port, which has a field of its own')
  if (name.length > 253 || !labels.every(part => label.test(part)))
    no('is no IP address and no DNS name: labels of 1 to 63 letters, digits, - and _, 253 in all')
  if (numeric.test(labels.at(-1) ?? '')) no('ends in a number and is no IPv4 address in four parts')
  return name
}

function refuse(row: typeof targetHost, field: string, why: string, reason: string): never {
  throw new Fault(row, `${field} ${why}`, { details: { field, reason } })
}
