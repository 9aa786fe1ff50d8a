// Limits on rules from the agent's own configuration. The server cannot widen them.
import { isIP } from 'node:net'
import { Refused } from '../../kernel/wire/message.ts'
import type { EngineRule, Filter, Match } from '../engine/engine.ts'
import { canonicalAddress } from '../net/address.ts'
import { compileFilters } from '../net/compile-filters.ts'

export interface GuardrailKeys {
  readonly allow_ports: readonly (number | string)[] // empty: all
  readonly allow_targets: readonly string[] // empty: all
  readonly deny_targets: readonly string[]
  readonly deny_local_ports: readonly (number | string)[] // on all addresses of this machine
}

type AdmittedRule = Pick<EngineRule, 'from' | 'to' | 'targets'> & Partial<Pick<EngineRule, 'diverts'>>

export interface Guardrails {
  /** Checks ports, and targets that are addresses, before a rule opens. Throws Refused. */
  admit(rule: AdmittedRule): void
  /** Checks the address of every dial: the address of a DNS name is not known earlier. */
  readonly filter: Filter
}

type Ports = readonly [from: number, to: number]

const refusal = 'denied_by_agent'

/** Parses the keys. Adds a message to `problems` for each invalid entry. */
export function openGuardrails(keys: GuardrailKeys, problems: string[]): Guardrails {
  const read = <V>(key: keyof GuardrailKeys, { parse, form }: Entry<V>): V[] =>
    keys[key].flatMap(text => {
      const value = parse(String(text))
      if (value === null) problems.push(`${key}: ${text} is invalid; write ${form}`)
      return value === null ? [] : [value]
    })
  const ports = read('allow_ports', portsEntry)
  const allow = read('allow_targets', targetEntry)
  const filter: Filter = {
    allow: allow.length > 0 ? allow : null,
    deny: [
      ...read('deny_targets', targetEntry),
      ...read('deny_local_ports', portsEntry).map(ports => ({ isOwn: true, ports }))
    ],
    refusal
  }

  const check = problems.length > 0 ? null : compileFilters({ source: null, target: [filter] }).target

  function admit({ from, to, targets, diverts = [] }: AdmittedRule): void {
    const all = [
      ...targets.map(target => ({ ...target, of: '' })),
      ...diverts.flatMap(({ name, targets }) =>
        targets.map(target => ({ ...target, of: ` of the divert ${name}` }))
      )
    ]
    const addresses = all
      .filter(({ host, dialer }) => isIP(host) && !dialer) // names are checked at the dial; a dialer's exit judges its targets
      .map(target => ({ ...target, address: canonicalAddress(target.host) }))
    for (let port = from; port <= to; port++) {
      if (ports.length > 0 && !ports.some(range => includes(range, port)))
        throw new Refused(refusal, `allow_ports of this agent does not include ${port}`)
      const denied = addresses.find(({ address, port: first }) => check?.(address, first + port - from, null))
      if (denied)
        throw new Refused(
          refusal,
          `the guardrails of this agent do not allow the target ${denied.host}${denied.of}`
        )
    }
  }
  return { admit, filter }
}

const includes = ([from, to]: Ports, port: number): boolean => from <= port && port <= to

/** Parses '443' or '8000-8999'. */
function parsePorts(text: string): Ports | null {
  const [, first, last] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? []
  const from = Number(first)
  const to = Number(last ?? first)
  return from >= 1 && from <= to && to <= 65535 ? [from, to] : null
}

/** Parses HOST or HOST:PORTS. HOST is an address, a CIDR or a name. An IPv6 address before ports is in brackets. */
function parseMatch(text: string): Match | null {
  const [, bracketed, bare, portText] = /^(?:\[(.+)\]|([^[\]]*?))(?::([\d-]+))?$/.exec(inBrackets(text)) ?? []
  const host = bracketed ?? bare ?? ''
  const ports = portText === undefined ? undefined : parsePorts(portText)
  const match = parseHost(host.toLowerCase())
  return match === null || ports === null ? null : { ...match, ...(ports && { ports }) }
}

/** Encloses a bare IPv6 address or CIDR, so that its last group is not parsed as ports. */
const inBrackets = (text: string): string => (isIP(text.split('/')[0] ?? '') === 6 ? `[${text}]` : text)

function parseHost(host: string): Match | null {
  const [address = '', bits, ...rest] = host.split('/')
  const family = isIP(address)
  if (family === 0) return /^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host) ? { host } : null
  const isMapped = family === 6 && isIP(canonicalAddress(address)) === 4
  const least = isMapped ? 96 : 0
  const full = family === 4 ? 32 : 128
  const length = bits === undefined ? full : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  if (rest.length > 0 || address.includes('%') || !(length >= least && length <= full)) return null
  return { cidr: `${address}/${length}` }
}

/** How to parse the entries of a key, and the form that a message asks for. */
interface Entry<V> {
  readonly parse: (text: string) => V | null
  readonly form: string
}

const portsEntry = { parse: parsePorts, form: 'a port or a range, such as 443 or 8000-8999' }
const targetEntry = {
  parse: parseMatch,
  form: 'an address, a prefix such as 10.0.0.0/8 or a name, and ports after a colon if wanted'
}
