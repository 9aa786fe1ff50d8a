// iptables: DNAT and REDIRECT in the output of iptables-save and ip6tables-save.
import { isLoopback } from '../../../kernel/platform/network.ts'
import { type Ports, parsePorts, parsePrefix, splitHostPort } from '../address.ts'
import { addressRange } from '../address-range.ts'
import type { Conversion } from '../conversion.ts'
import type { Reason } from '../reasons.ts'
import type { Statement } from '../report.ts'
import { addNotes, openDraft, type RuleDraft } from '../rule-draft.ts'
import { invalidFile, type SourceFile } from '../source-file.ts'
import { splitWords } from '../split-words.ts'

const maxJumps = 16
const maxExclusions = 64 // of RETURN and ACCEPT along the chains to a rule
const maxShares = 64
const maxVisits = 100_000 // rules that the walk over all chains visits

/** The conditions that a packet meets on its way through the chains to a rule. */
interface Match {
  readonly protocols: readonly ('tcp' | 'udp')[] | null // null: every protocol
  readonly ports: readonly Ports[] | null // null: every port
  readonly allow: readonly string[] | null
  readonly deny: readonly string[]
  readonly share: number // of connections, below 1 with the module statistic
  readonly shareReason: Reason | null
  readonly comment: string | null
  readonly listenHost: string // a loopback address: only packets of the host itself; '' for others
  readonly place: string // the addresses and interfaces that it listens on, as given; '' for all
  readonly reason: Reason | null // names a difference
  readonly problem: Reason | null // the match cannot be expressed
  readonly excluded: readonly Match[] // of RETURN and ACCEPT before the rule
}

interface ChainRule {
  readonly statement: Statement
  readonly match: Match
  readonly target: string // '' if there is none
  readonly arguments: readonly string[]
}

const everything: Match = {
  protocols: null,
  ports: null,
  allow: null,
  deny: [],
  share: 1,
  shareReason: null,
  comment: null,
  listenHost: '',
  place: '',
  reason: null,
  problem: null,
  excluded: []
}

export function convertIptables(files: readonly SourceFile[], conversion: Conversion): void {
  for (const file of files) {
    const chains = readNat(file, conversion)
    const hidesCallers = (chains.get('POSTROUTING') ?? []).some(
      ({ target, match }) => /^(MASQUERADE|SNAT)$/.test(target) && match.allow === null
    )
    judgeOthers(chains, conversion)
    new Walk(chains, file, hidesCallers, conversion).run()
  }
}

/** Filters of forwarded packets, which packets to an agent do not pass. */
const dropsForwarded = /^(:FORWARD DROP|(\[\d+:\d+\] )?-A FORWARD .*-j (DROP|REJECT))/

type Chains = Map<string, ChainRule[]>

/** Reads the rules of the table nat. Judges the lines of other tables. */
function readNat(file: SourceFile, conversion: Conversion): Chains {
  const { verdicts } = conversion
  const chains: Chains = new Map()
  let table: string | null = null
  for (const [at, text] of file.text.split('\n').entries()) {
    const line = text.trim()
    const number = at + 1
    if (line === '' || line.startsWith('#')) continue
    const statement = conversion.statement(file.name, number, line)
    if (line.startsWith('*')) table = line.slice(1).trim()
    if (table === 'filter' && dropsForwarded.test(line)) {
      verdicts.refuse(statement, 'source_rules')
      continue
    }
    if (/^(\*|:|COMMIT$)/.test(line)) {
      verdicts.ignore(statement, 'structure')
      if (line === 'COMMIT') table = null
      continue
    }
    if (table === null)
      throw invalidFile(file.name, number, 'a rule outside a table: give the output of iptables-save')
    if (table !== 'nat') {
      verdicts.ignore(statement, 'not_used')
      continue
    }
    const words = splitWords(line.replace(/^\[\d+:\d+\]\s*/, ''), file.name, number)
    const [command = '', chain = '', ...rest] = words
    if (command !== '-A' || chain === '')
      throw invalidFile(file.name, number, 'it is no line of iptables-save: it must begin with -A CHAIN')
    const rules = chains.get(chain) ?? []
    chains.set(chain, rules)
    rules.push({ statement, ...readRule(rest) })
  }
  return chains
}

/** Judges NAT of sources and of local traffic, which rules do not need. */
function judgeOthers(chains: Chains, { verdicts }: Conversion): void {
  for (const [chain, rules] of chains)
    for (const { statement, target } of rules) {
      if (/^(MASQUERADE|SNAT|NETMAP)$/.test(target) || chain === 'POSTROUTING')
        verdicts.ignore(statement, 'source_nat')
      else if (chain === 'OUTPUT') verdicts.ignore(statement, 'local_traffic')
      else if (chain !== 'PREROUTING') verdicts.leaveUnused(statement)
    }
}

/** Follows the chains from PREROUTING, and makes rules of DNAT and REDIRECT. */
class Walk {
  readonly #chains: Chains
  readonly #file: SourceFile
  readonly #hidesCallers: boolean
  readonly #conversion: Conversion
  readonly #shares = new Map<string, { readonly drafts: readonly RuleDraft[]; rest: number }>()
  #rest = maxVisits

  constructor(chains: Chains, file: SourceFile, hidesCallers: boolean, conversion: Conversion) {
    this.#chains = chains
    this.#file = file
    this.#hidesCallers = hidesCallers
    this.#conversion = conversion
  }

  run(): void {
    this.#chain('PREROUTING', everything, [])
    for (const { drafts } of this.#shares.values()) this.#add(drafts)
  }

  /** Returns how many drafts the chain and its jumps have made. */
  #chain(name: string, before: Match, path: readonly string[]): number {
    let made = 0
    let scope = before
    for (const rule of this.#chains.get(name) ?? []) {
      this.#rest -= 1
      if (this.#rest < 0)
        throw invalidFile(
          this.#file.name,
          rule.statement.line,
          `the chains lead to more than ${maxVisits} rules`
        )
      if (/^(RETURN|ACCEPT)$/.test(rule.target)) {
        const isFull = scope.excluded.length >= maxExclusions
        scope = isFull
          ? { ...scope, problem: 'match' }
          : { ...scope, excluded: [...scope.excluded, rule.match] }
        this.#conversion.verdicts.approximate(rule.statement, 'match', null)
      } else made += this.#rule(rule, this.#combine(scope, rule), path)
    }
    return made
  }

  #combine(scope: Match, { match, statement }: ChainRule): Match {
    if (match.deny.length > 0) this.#conversion.spend(scope.deny.length, statement)
    this.#conversion.spend((scope.ports?.length ?? 0) * (match.ports?.length ?? 0), statement)
    return combine(scope, match)
  }

  #rule({ statement, target, arguments: given }: ChainRule, match: Match, path: readonly string[]): number {
    const { verdicts } = this.#conversion
    if (target === 'DNAT' || target === 'REDIRECT') return this.#translate(statement, target, given, match)
    if (target === 'MASQUERADE' || target === 'SNAT') return 0
    if (this.#chains.has(target) && path.length < maxJumps && !path.includes(target)) {
      const made = this.#chain(target, match, [...path, target])
      if (made > 0) verdicts.map(statement, null)
      else verdicts.leaveUnused(statement)
      return made
    }
    if (/^(LOG|NFLOG|MARK|CONNMARK|TRACE)?$/.test(target)) verdicts.ignore(statement, 'logging')
    else if (this.#chains.has(target)) verdicts.refuse(statement, 'match')
    else verdicts.leaveUnused(statement) // a jump to an empty chain
    return 0
  }

  #translate(statement: Statement, target: string, given: readonly string[], match: Match): number {
    const { verdicts } = this.#conversion
    const problem =
      match.problem ??
      (match.protocols === null ? 'protocol' : null) ??
      (match.ports === null ? 'all_ports' : null)
    if (problem !== null) {
      verdicts.refuse(statement, problem)
      return 0
    }
    this.#conversion.spend(given.length, statement)
    const isRedirect = target === 'REDIRECT'
    const option = isRedirect ? '--to-ports' : '--to-destination'
    const to = given[given.indexOf(option) + 1]
    const destinations = isRedirect
      ? [`127.0.0.1${to === undefined || !given.includes(option) ? '' : `:${to}`}`]
      : valuesOf(given, option)
    if (destinations.length === 0) {
      verdicts.refuse(statement, 'no_target')
      return 0
    }
    this.#conversion.spend((match.ports?.length ?? 0) * (match.excluded.length + 1), statement)
    for (const listen of match.ports ?? [])
      for (const protocol of match.protocols ?? []) {
        this.#conversion.spend(costOf(match), statement)
        const own = exclude(match, { listen, protocol })
        if (own.problem === null) this.#share(statement, { listen, protocol, destinations }, own)
        else verdicts.refuse(statement, own.problem)
      }
    return 1
  }

  /** Collects the rules of one match with the module statistic, which share its connections. */
  #share(
    statement: Statement,
    {
      listen,
      protocol,
      destinations
    }: { readonly listen: Ports; readonly protocol: 'tcp' | 'udp'; readonly destinations: readonly string[] },
    match: Match
  ): void {
    const { share, allow, deny, place } = match
    const { verdicts } = this.#conversion
    const sources = JSON.stringify([listen, protocol, allow, deny])
    const key = `${sources} ${place}`
    const earlier = this.#shares.get(key)
    const everywhere = this.#shares.get(`${sources} `)
    const draft = this.#draft(statement, listen, protocol, match)
    for (const destination of destinations) {
      const before = draft.targets.length
      addDestination(draft, destination, statement, reasonOf(match, this.#hidesCallers))
      this.#conversion.spend(draft.targets.length - before, statement)
    }
    if (earlier && earlier.drafts.length >= maxShares) verdicts.refuse(statement, 'limit')
    else if (everywhere?.rest === 0)
      verdicts.leaveUnused(statement) // an earlier rule takes all connections
    else if (earlier && earlier.rest > 0 && earlier.rest < 1) {
      const weight = earlier.rest * share
      earlier.rest -= weight
      this.#shares.set(key, {
        drafts: [...earlier.drafts, weigh(draft, weight)],
        rest: earlier.rest < 1e-6 ? 0 : earlier.rest
      })
    } else if (earlier) verdicts.leaveUnused(statement)
    else this.#shares.set(key, { drafts: [weigh(draft, share)], rest: share === 1 ? 0 : 1 - share })
  }

  #draft(statement: Statement, listen: Ports, protocol: 'tcp' | 'udp', match: Match): RuleDraft {
    const draft = openDraft({
      client: this.#file.client,
      statement,
      listen,
      listenHost: match.listenHost,
      protocol
    })
    draft.description = match.comment
    draft.allowSources = match.allow
    draft.denySources = match.deny.length > 0 ? match.deny : null
    draft.notes.push({ statement, field: '', reason: reasonOf(match, this.#hidesCallers) })
    return draft
  }

  #add(drafts: readonly RuleDraft[]): void {
    const [first] = drafts
    if (!first) return
    for (const draft of drafts.slice(1)) {
      for (const target of draft.targets) first.targets.push(target)
      addNotes(first, draft.notes)
    }
    if (first.targets.length > 1) first.balance = 'round_robin'
    this.#conversion.addRule(first)
  }
}

/** REDIRECT and DNAT keep the address of the caller, unless the host masquerades. */
const reasonOf = ({ reason, shareReason }: Match, hidesCallers: boolean): Reason | null =>
  reason ?? shareReason ?? (hidesCallers ? null : 'source_address')

function weigh(draft: RuleDraft, share: number): RuleDraft {
  const weight = Math.max(1, Math.round((share * 100) / Math.max(1, draft.targets.length)))
  for (const [at, target] of draft.targets.entries()) draft.targets[at] = { ...target, weight }
  return draft
}

/** Adds the targets of `10.0.0.1`, `10.0.0.1:80`, `10.0.0.1-10.0.0.3:8000-8010` or `:80`. */
function addDestination(draft: RuleDraft, text: string, statement: Statement, reason: Reason | null): void {
  const isBareIpv6 = !text.startsWith('[') && text.split(':').length > 2
  const { host, ports } = isBareIpv6 ? { host: text, ports: null } : splitHostPort(text)
  const [portText = null, base = null] = ports?.split('/') ?? []
  const range = portText === null ? null : parsePorts(portText)
  const { from, to } = draft.listen
  const isWrong = portText !== null && range === null
  const isFixed = range !== null && range.from === range.to
  const isShifted = range !== null && range.to - range.from === to - from
  const shift = range === null ? 0 : base === null ? range.from - from : range.from - Number(base)
  const kept = range !== null && from >= range.from && to <= range.to ? 0 : shift
  const differs = range !== null && !isFixed && !(isShifted && kept === 0)
  for (const address of host === '' ? ['127.0.0.1'] : addressRange(host)) // `:80` keeps the address: the host's own
    draft.targets.push({
      host: isWrong ? '' : address,
      port: isFixed ? range.from : kept,
      kind: isFixed ? 'fixed' : 'shifted',
      priority: 0,
      weight: 1,
      statement,
      reason: differs ? 'port' : reason
    })
}

function combine(before: Match, own: Match): Match {
  const isBoth = before.allow !== null && own.allow !== null
  const ports = intersectPorts(before.ports, own.ports)
  const isNever =
    ports?.length === 0 ||
    (own.protocols !== null && before.protocols?.includes(own.protocols[0] ?? 'tcp') === false)
  return {
    protocols: own.protocols ?? before.protocols,
    ports,
    allow: own.allow ?? before.allow,
    deny: own.deny.length > 0 ? [...before.deny, ...own.deny] : before.deny,
    share: before.share * own.share,
    shareReason: own.shareReason ?? before.shareReason,
    comment: own.comment ?? before.comment,
    listenHost: own.listenHost || before.listenHost,
    place: `${before.place}${own.place}`,
    reason: own.reason ?? before.reason,
    excluded: before.excluded,
    problem:
      before.problem ??
      own.problem ??
      (isNever || isBoth || (before.share < 1 && own.share < 1) ? 'match' : null)
  }
}

/** A chain can name the ports again that led to it, as the ports of containers do. */
function intersectPorts(one: Match['ports'], other: Match['ports']): Match['ports'] {
  if (one === null || other === null) return one ?? other
  return one.flatMap(({ from, to }) =>
    other
      .map(ports => ({ from: Math.max(from, ports.from), to: Math.min(to, ports.to) }))
      .filter(ports => ports.from <= ports.to)
  )
}

/** Counts what `exclude` reads for one listen port, and the lists of sources in the key of its share. */
const costOf = ({ allow, deny, excluded }: Match): number =>
  excluded.reduce(
    (sum, other) => sum + (other.ports?.length ?? 0) + (other.allow?.length ?? 0),
    (allow?.length ?? 0) + deny.length
  )

/** Subtracts what an earlier RETURN or ACCEPT takes from the listen ports: sources are denied, other matches are a problem. */
function exclude(
  match: Match,
  { listen, protocol }: { readonly listen: Ports; readonly protocol: 'tcp' | 'udp' }
): Match {
  const denied = [...match.deny]
  let { problem, reason } = match
  for (const other of match.excluded) {
    const { protocols, ports, allow } = other
    const isOtherProtocol = protocols !== null && !protocols.includes(protocol)
    const isOtherPort = ports?.every(({ from, to }) => to < listen.from || from > listen.to) === true
    if (isOtherProtocol || isOtherPort) continue
    const isWhole = ports === null || ports.some(({ from, to }) => from <= listen.from && to >= listen.to)
    const isPlain = isWhole && other.problem === null && other.deny.length === 0 && other.share === 1
    if (isPlain && allow !== null) for (const source of allow) denied.push(source)
    else if (isPlain && other.reason !== null) reason ??= other.reason
    else problem = 'match'
  }
  return { ...match, deny: denied, problem, reason }
}

// Rules

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Reads `-p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.0.1:80`. Unknown matches are a problem of the rule. */
function readRule(words: readonly string[]): Omit<ChainRule, 'statement'> {
  const match: Mutable<Match> = { ...everything }
  let isNegated = false
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (word === '!') {
      isNegated = true
      continue
    }
    if (word === '-j' || word === '-g')
      return { match, target: words[at + 1] ?? '', arguments: words.slice(at + 2) }
    const value = words[at + 1] ?? ''
    const isKnown = readMatch(match, word, value, isNegated ? 'not' : 'is')
    if (!isKnown) match.problem ??= 'match'
    isNegated = false
    if (isKnown) at += 1
    else while (/^[^-!]/.test(words[at + 1] ?? '')) at += 1
  }
  return { match, target: '', arguments: [] }
}

/** Reads an option with one value. Returns false if it is not known. */
function readMatch(match: Mutable<Match>, option: string, value: string, sense: 'is' | 'not'): boolean {
  const isNot = sense === 'not'
  if (option === '-m' || option === '--packet') return true
  if (/^(-s|--src-range)$/.test(option)) readSource(match, option, value, sense)
  else if (/^(-d|--dst-range|-i)$/.test(option)) {
    match.reason ??= 'listen_address'
    match.place += `${isNot ? '! ' : ''}${option} ${value} `
    if (!isNot && isOwnHost(option, value)) match.listenHost = '127.0.0.1'
  } else if (option === '--comment') match.comment = descriptionFrom(value)
  else if (isNot) return false
  else if (option === '-p') readProtocol(match, value)
  else if (/^--dports?$/.test(option)) {
    const ports = value.split(',').map(text => parsePorts(text, ':'))
    if (ports.includes(null)) match.problem = 'port'
    match.ports = ports.filter(one => one !== null)
  } else if (option === '--dst-type') return value === 'LOCAL'
  else if (/^(--ctstate|--state)$/.test(option)) return value === 'NEW'
  else if (option === '--mode') match.shareReason = value === 'nth' ? null : 'balance'
  else if (option === '--probability' && Number(value) > 0 && Number(value) <= 1) match.share = Number(value)
  else if (option === '--every' && /^[1-9]\d{0,5}$/.test(value)) match.share = 1 / Number(value)
  else return false
  return true
}

/** True for loopback, as Docker matches it for ports that it publishes there. */
const isOwnHost = (option: string, value: string): boolean =>
  option === '-i' ? value === 'lo' : isLoopback(value.split(/[/-]/, 1)[0] ?? '')

function readProtocol(match: Mutable<Match>, value: string): void {
  if (value === 'tcp' || value === 'udp') match.protocols = [value]
  else match.problem = 'protocol'
}

function readSource(match: Mutable<Match>, option: string, value: string, sense: 'is' | 'not'): void {
  const prefixes = option === '--src-range' ? addressRange(value, 256) : value.split(',')
  const parsed = prefixes.map(text => parsePrefix(text.replace(/\/(255|0)\.[\d.]+$/, prefixLengthOf)))
  if (parsed.length === 0 || parsed.includes(null)) {
    match.problem = 'source_rules'
    return
  }
  const sources = parsed.filter(one => one !== null)
  if (sense === 'not') match.deny = [...match.deny, ...sources]
  else if (match.allow === null) match.allow = sources
  else match.problem = 'source_rules'
}

/** Turns `/255.255.255.0` into `/24`. Returns text that is no prefix for other masks. */
function prefixLengthOf(mask: string): string {
  const bits = mask
    .slice(1)
    .split('.')
    .map(part => Number(part).toString(2).padStart(8, '0'))
    .join('')
  return /^1*0*$/.test(bits) && bits.length === 32
    ? `/${bits.indexOf('0') < 0 ? 32 : bits.indexOf('0')}`
    : '/mask'
}

function descriptionFrom(text: string): string | null {
  const plain = text.replaceAll(/\p{C}+/gu, ' ').trim()
  return plain === '' || Buffer.byteLength(plain) > 255 ? null : plain
}

const valuesOf = (words: readonly string[], option: string): string[] =>
  words.flatMap((word, at) => (word === option && words[at + 1] !== undefined ? [words[at + 1] ?? ''] : []))
