// An entry of a grant's target list: an address, a CIDR or a host name, optionally with ports.
import ipaddr from 'ipaddr.js'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { addressForms } from '../../kernel/platform/address-forms.ts'
import { normalizePrefix } from '../rules/exports.ts'
import type { Match } from './wire.ts'

export const invalidGrantTarget = defineCode('validation.grant_target', 400, 3)

/** Parses HOST or HOST:PORTS; PORTS is 'p' or 'a-b', and an IPv6 HOST before ports is in brackets. */
export function parseTarget(text: string, field: string): Match {
  const fail = (why: string): never => {
    const details = { field, reason: 'target' }
    throw new Fault(invalidGrantTarget, `${field} ${text} ${why}`, { details })
  }
  const isBare6 = ipaddr.IPv6.isValid(text.split('/')[0] ?? '') && !text.includes('%')
  const [, bracketed, bare, ports] =
    /^(?:\[([^\]]+)\]|([^[\]:]+))(?::([\d-]+))?$/.exec(isBare6 ? `[${text}]` : text) ?? []
  const host = bracketed ?? bare
  if (host === undefined)
    return fail('is not HOST or HOST:PORTS; put an IPv6 address before ports in brackets')
  const match = parseHost(host)
  if (match === null || (bracketed !== undefined && match.host !== undefined))
    return fail('is not an address, a CIDR or a DNS name')
  return {
    ...match,
    ...(ports !== undefined &&
      (parsePorts(ports) ?? fail('has invalid ports; give p or a-b, from 1 to 65535')))
  }
}

function parsePorts(text: string) {
  const [, first, last] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? []
  const from = Number(first)
  const to = Number(last ?? first)
  return from >= 1 && from <= to && to <= 65535 ? { port_from: from, port_to: to } : null
}

function parseHost(host: string): Pick<Match, 'cidr' | 'host'> | null {
  const cidr = normalizePrefix(host)
  if (cidr !== null) return { cidr }
  return isName(host) ? { host: host.toLowerCase().replace(/\.$/, '') } : null
}

const addressBits = (address: string): number => (address.includes(':') ? 128 : 32)

const isAddress = (text: string): boolean =>
  !text.includes('%') && (ipaddr.IPv6.isValid(text) || ipaddr.IPv4.isValidFourPartDecimal(text))

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i

function isName(text: string): boolean {
  const name = text.replace(/\.$/, '')
  const labels = name.split('.')
  return name.length <= 253 && labels.every(part => label.test(part)) && !/^\d+$/.test(labels.at(-1) ?? '')
}

/** Returns the normal form, so that equal targets have equal text. */
export function formatTarget({ cidr = '', host = cidr, port_from: from, port_to: to }: Match): string {
  if (from === undefined) return host
  const bracketed = host.includes(':') ? `[${host}]` : host
  return from === to ? `${bracketed}:${from}` : `${bracketed}:${from}-${to}`
}

interface TargetRange {
  readonly host: string // as in the rule
  readonly from: number
  readonly to: number
}

/**
 * True if the list allows every port of the target. Accepts a name that may resolve to an allowed address: the agent
 * checks the address when it connects. An address that leads to an IPv4 address needs both in the list.
 */
export function allows(list: readonly Match[], target: TargetRange): boolean {
  const hosts = isAddress(target.host) ? addressForms(ipaddr.process(target.host).toString()) : [target.host]
  return hosts.every(host => allowsHost(list, { ...target, host }))
}

function allowsHost(list: readonly Match[], { host, from, to }: TargetRange): boolean {
  const fitting = list.filter(match => mayMatch(match, host))
  for (let port = from; port <= to; port++)
    if (!fitting.some(({ port_from: low = 1, port_to: high = 65535 }) => low <= port && port <= high))
      return false
  return true
}

function mayMatch({ cidr, host: name }: Match, host: string): boolean {
  if (cidr === undefined) return name === host
  if (!isAddress(host)) return true
  const address = ipaddr.parse(host)
  const [prefix, length] = ipaddr.parseCIDR(cidr.includes('/') ? cidr : `${cidr}/${addressBits(cidr)}`)
  return address.kind() === prefix.kind() && address.match(prefix, length)
}
