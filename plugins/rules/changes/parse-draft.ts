// Parses what a rule forwards. Each host is stored in one normalized form.
import { domainToASCII } from 'node:url'
import ipaddr from 'ipaddr.js'
import { defineCode, type ErrorCode, Fault } from '../../../kernel/base/errors.ts'
import type { Protocol, Rule, Target } from '../entities.ts'
import { maxTargets } from '../wire.ts'
import { defaultPriority } from './default-priority.ts'

export const validationProtocol = defineCode('validation.protocol', 400, 3)

export type Draft = Pick<Rule, 'protocol' | 'listenFrom' | 'listenTo' | 'targets' | 'preferIpv6'>

interface DraftBody {
  readonly protocol?: string | undefined
  readonly listen_port: number
  readonly listen_port_end?: number | null | undefined
  readonly targets: readonly TargetInput[]
  readonly prefer_ipv6?: boolean | undefined
  readonly balance?: unknown
}

/** `distinguishing`: keys of properties that tell targets with the same host and port apart. */
export const parseDraft = (body: DraftBody, distinguishing: readonly string[] = []): Draft => ({
  protocol: parseProtocol(body.protocol ?? 'tcp'),
  listenFrom: body.listen_port,
  listenTo: body.listen_port_end ?? body.listen_port,
  targets: parseTargets(body.targets, defaultPriority(body), distinguishing),
  preferIpv6: body.prefer_ipv6 ?? false
})

function parseProtocol(given: string): Protocol {
  const protocol = given.toLowerCase()
  if (protocol === 'tcp' || protocol === 'udp') return protocol
  const details = { field: '/protocol', reason: 'enum' }
  throw new Fault(validationProtocol, '/protocol must be tcp or udp', { details })
}

const targetsEmpty = defineCode('validation.targets_empty', 400, 3)
const targetsTooMany = defineCode('validation.targets_too_many', 400, 3)
const targetsDuplicate = defineCode('validation.targets_duplicate', 400, 3)
export const targetHost = defineCode('validation.target_host', 400, 3)
const targetWeight = defineCode('validation.weight', 400, 3)
export const targetCodes = [targetsEmpty, targetsTooMany, targetsDuplicate, targetHost, targetWeight]

interface TargetInput {
  readonly host: string
  readonly port: number
  readonly priority?: number
  readonly weight?: number
}

export function parseTargets(
  given: readonly TargetInput[],
  defaultPriority?: number,
  distinguishing: readonly string[] = []
): Target[] {
  if (given.length === 0) refuse(targetsEmpty, '/targets', 'is empty; give 1 to 8 targets', 'minItems')
  if (given.length > maxTargets)
    refuse(targetsTooMany, '/targets', `has ${given.length} entries; ${maxTargets} are the most`, 'maxItems')
  const targets = given.map(({ host, port, priority, weight = 1 }, index) => ({
    host: parseHost(host, `/targets/${index}/host`),
    port,
    priority: priority ?? defaultPriority ?? index,
    ...(weight !== 1 && { weight })
  }))
  refuseWeights(targets)
  refuseDuplicates(
    targets.map((target, index) => ({ ...given[index], ...target })),
    distinguishing
  )
  return targets
}

/** Throws if two targets are equal in host, port and all distinguishing properties. */
export function refuseDuplicates(
  targets: readonly Readonly<Record<string, unknown>>[],
  distinguishing: readonly string[]
): void {
  const seen = new Map<string, number>()
  for (const [index, target] of targets.entries()) {
    const place = `${target['host']} port ${target['port']}`
    const key = JSON.stringify([place, ...distinguishing.map(key => (key in target ? [target[key]] : []))])
    const earlier = seen.get(key)
    if (earlier !== undefined)
      refuse(targetsDuplicate, `/targets/${index}`, `is ${place}, like /targets/${earlier}`, 'unique')
    seen.set(key, index)
  }
}

function refuseWeights(targets: readonly Target[]): void {
  const weights = targets.map(({ weight = 1 }) => weight)
  if (targets.length === 1 && weights[0] !== 1)
    refuse(targetWeight, '/targets/0/weight', 'has no effect with one target; leave it out', 'single')
  if (weights.every(weight => weight === 0))
    refuse(targetWeight, '/targets', 'all have weight 0; give at least one a weight above 0', 'zero')
}

/** Parses an IPv4 address, an IPv6 address with or without brackets, or a DNS name. */
export function parseHost(host: string, field: string): string {
  const invalid = (why: string): never => refuse(targetHost, field, why, 'host')
  if (host.includes('%')) invalid('has a zone id, which is only valid on one machine')
  const [, bracketed] = /^\[(.*)\]$/.exec(host) ?? []
  const text = bracketed ?? host
  if (ipaddr.IPv6.isValid(text) || (bracketed === undefined && ipaddr.IPv4.isValidFourPartDecimal(text)))
    return parseAddress(text, invalid)
  if (bracketed !== undefined) invalid('has brackets, but is not an IPv6 address')
  return parseName(text, invalid)
}

function parseAddress(text: string, invalid: (why: string) => never): string {
  const address = ipaddr.process(toHexForm(text)) // an IPv4-mapped one becomes IPv4
  if (address instanceof ipaddr.IPv6 && isIpv4Compatible(address))
    invalid('is an IPv4-compatible IPv6 address, a deprecated form; write the IPv4 address')
  const range = address.range()
  if (range === 'unspecified' || range === 'multicast' || range === 'broadcast')
    invalid(`is ${range === 'unspecified' ? 'an' : 'a'} ${range} address, which cannot be a target`)
  return address.toString()
}

/** Writes the last four bytes of an IPv6 address in hex: ipaddr.js reads ::1.2.3.4 as ::ffff:1.2.3.4. */
const toHexForm = (address: string): string =>
  address.includes(':') ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address

/** See RFC 4291, 2.5.5.1; :: and ::1 are not IPv4-compatible. */
const isIpv4Compatible = ({ parts }: ipaddr.IPv6): boolean =>
  parts.slice(0, 6).every(part => part === 0) && (parts[6] !== 0 || (parts[7] ?? 0) > 1)

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/
const numeric = /^(\d+|0x[0-9a-f]*)$/ // some resolvers read such a name as an address

function parseName(text: string, invalid: (why: string) => never): string {
  if (/[^\x20-\x7e]/.test(text)) {
    const ascii = domainToASCII(text)
    invalid(`is not ASCII${ascii === '' ? '' : `; write ${ascii}`}`)
  }
  const name = text.toLowerCase().replace(/\.$/, '')
  const labels = name.split('.')
  if (/:\d+$/.test(name)) invalid('contains a port; use the field port')
  if (name.length > 253 || !labels.every(part => label.test(part)))
    invalid(
      'is neither an IP address nor a DNS name: labels of 1 to 63 letters, digits, - and _, at most 253 characters'
    )
  if (numeric.test(labels.at(-1) ?? '')) invalid('ends in a number but is not an IPv4 address of four parts')
  return name
}

function refuse(code: ErrorCode, field: string, why: string, reason: string): never {
  throw new Fault(code, `${field} ${why}`, { details: { field, reason } })
}
