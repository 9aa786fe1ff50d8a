// What the owner of this machine lets rules do, as written in the agent's configuration. No server can widen it.
import { isIP } from 'node:net'
import { Refused } from '../../kernel/wire/message.ts'
import type { EngineRule, Filter, Match } from '../engine.ts'
import { canonicalAddress } from '../net/address.ts'
import { compileFilters } from '../net/filter.ts'

export interface Guardrails {
  /** What can be judged before a rule opens: its ports, and the targets that are addresses. Throws Refused. */
  admit(rule: Pick<EngineRule, 'from' | 'to' | 'targets'>): void
  /** The rest is judged at every dial. */
  readonly filter: Filter
}

export interface GuardrailKeys {
  readonly allow_ports: readonly (number | string)[] // empty: all
  readonly allow_targets: readonly string[] // empty: all
  readonly deny_targets: readonly string[]
}

type Ports = readonly [from: number, to: number]

const refusal = 'denied_by_agent'

/** Adds to `problems` what cannot be read. */
export function openGuardrails(keys: GuardrailKeys, problems: string[]): Guardrails {
  const read = <V>(key: keyof GuardrailKeys, parse: (text: string) => V | null): V[] =>
    keys[key].flatMap(text => {
      const value = parse(String(text))
      if (value === null) problems.push(`${key}: ${text} cannot be read`)
      return value === null ? [] : [value]
    })
  const ports = read('allow_ports', parsePorts)
  const allow = read('allow_targets', parseMatch)
  const filter: Filter = {
    allow: allow.length > 0 ? allow : null,
    deny: read('deny_targets', parseMatch),
    refusal
  }

  const judge = problems.length > 0 ? null : compileFilters({ source: null, target: [filter] }).target

  function admit({ from, to, targets }: Pick<EngineRule, 'from' | 'to' | 'targets'>): void {
    for (let port = from; port <= to; port++) {
      if (ports.length > 0 && !ports.some(range => includes(range, port)))
        throw new Refused(refusal, `allow_ports of this agent does not hold ${port}`)
      const denied = targets
        .filter(({ host }) => isIP(host)) // the addresses of a name are judged when they are known
        .find(({ host, port: first }) => judge?.(canonicalAddress(host), first + port - from, null))
      if (denied) throw new Refused(refusal, `this agent may not dial ${denied.host}`)
    }
  }
  return { admit, filter }
}

const includes = ([from, to]: Ports, port: number): boolean => from <= port && port <= to

/** '443' or '8000-8999'. */
function parsePorts(text: string): Ports | null {
  const [, first, last] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? []
  const [from, to] = [Number(first), Number(last ?? first)]
  return from >= 1 && from <= to && to <= 65535 ? [from, to] : null
}

/** HOST, or HOST:PORTS: HOST an address, a CIDR, or a name; an IPv6 one before ports stands in brackets. */
function parseMatch(text: string): Match | null {
  const [, bracketed, bare, given] = /^(?:\[(.+)\]|([^[\]]*?))(?::([\d-]+))?$/.exec(asOne(text)) ?? []
  const host = bracketed ?? bare ?? ''
  const ports = given === undefined ? undefined : parsePorts(given)
  const place = parseHost(host.toLowerCase())
  return place === null || ports === null ? null : { ...place, ...(ports && { ports }) }
}

/** An IPv6 address or CIDR without brackets has colons of its own, and no ports. */
const asOne = (text: string): string => (isIP(text.split('/')[0] ?? '') === 6 ? `[${text}]` : text)

function parseHost(host: string): Match | null {
  const [address = '', bits, ...rest] = host.split('/')
  const family = isIP(address)
  if (family === 0) return /^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host) ? { host } : null
  const isMapped = family === 6 && isIP(canonicalAddress(address)) === 4
  const [least, full] = [isMapped ? 96 : 0, family === 4 ? 32 : 128]
  const length = bits === undefined ? full : Number(bits)
  if (rest.length > 0 || bits === '' || !(length >= least && length <= full)) return null
  return { cidr: `${address}/${length}` }
}
