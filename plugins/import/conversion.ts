// Collects the rules and the report of one import, within the bounds of the product.
import { isLoopback } from '../../kernel/platform/network.ts'
import { type Ports, parseTargetHost } from './address.ts'
import type { Reason } from './reasons.ts'
import { openStatement, type Statement, Verdicts } from './report.ts'
import type { DraftTarget, RuleDraft } from './rule-draft.ts'
import { invalidFile } from './source-file.ts'

const maxRules = 10_000
const maxStatements = 500_000
const maxSteps = 2_000_000
/** Steps of work to parse or compare one address. */
export const addressSteps = 4

const pieceSteps = 4 // to write a rule and compare it
const maxTargets = 8
const maxRangePorts = 1024 // range_rule_max_ports of a server by default
const maxWeight = 256
const maxSources = 256
const maxProxies = 64
const lastPort = 65_535

/** An entry of `[[rules]]` in a document of `apply`. */
type RuleEntry = Readonly<Record<string, unknown>>

interface Options {
  readonly client: string | undefined // of all rules
  readonly exit: string | undefined // of all rules: the client that dials the targets
  readonly owner: string | undefined
}

/** A number of listen ports that become one rule, and its targets. */
interface Piece {
  readonly from: number
  readonly to: number
  readonly targets: readonly (DraftTarget & { readonly finalPort: number })[]
}

interface Holder {
  readonly at: number // index of the rule
  readonly text: string // the rule without its name
}

/** Rules that share one port by TLS name. */
interface SharedPort {
  readonly patterns: Map<string, Holder> // the fallback is ''
  readonly proxyIn: string
}

export class Conversion {
  readonly verdicts = new Verdicts()
  readonly rules: RuleEntry[] = []
  readonly #options: Options
  readonly #ports = new Map<string, Int32Array>() // index of the rule plus 1, by client and protocol
  readonly #texts: string[] = []
  readonly #shared = new Map<string, SharedPort>()
  #restSteps = maxSteps
  readonly #names = new Map<string, number>()
  readonly #exits = new Set<string>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Registers a statement. Throws `import_invalid` beyond the bound. */
  statement(file: string, line: number, text: string, secret: 'none' | 'left_out' = 'none'): Statement {
    if (this.verdicts.size >= maxStatements)
      throw invalidFile(file, line, `more than ${maxStatements} statements; split the file`)
    const statement = openStatement(file, line, text, secret)
    this.verdicts.add(statement)
    return statement
  }

  /** Counts work that grows with the product of two numbers of statements. Throws `import_invalid` beyond the bound. */
  spend(steps: number, { file, line }: Statement): void {
    this.#restSteps -= steps
    if (this.#restSteps >= 0) return
    throw invalidFile(file, line, 'too many rules share too many statements; split the file')
  }

  /** Adds the rules that a draft describes, or refuses it and its statements. */
  addRule(draft: RuleDraft): void {
    this.#countDraft(draft)
    if (isLoopback(draft.listenHost)) keepLocal(draft)
    const targets = this.#usableTargets(draft)
    const pieces = problemOf(draft, targets) ?? this.#pieces(draft, targets)
    if (typeof pieces === 'string') {
      this.#refuse(draft, pieces)
      return
    }
    const places: number[] = []
    for (const piece of pieces) {
      const entry = this.#entry(draft, piece)
      const at = this.#place(draft, piece, entry)
      if (at === null) this.verdicts.refuse(draft.blamed, 'listen_conflict')
      else places.push(at)
    }
    if (places.length === 0) this.#refuse(draft, 'listen_conflict')
    else this.#judge(draft, targets, places)
  }

  /** Refuses a draft: its statements are refused, unless another rule uses them. */
  refuseRule(draft: RuleDraft, reason: Reason): void {
    this.#countDraft(draft)
    this.#refuse(draft, reason)
  }

  #refuse(draft: RuleDraft, reason: Reason): void {
    this.verdicts.refuse(draft.blamed, reason)
    this.verdicts.refuseWithRule(draft.statement, reason)
    for (const { statement } of [...draft.notes, ...draft.targets])
      this.verdicts.refuseWithRule(statement, reason)
  }

  /** Names of the clients that must exist before `apply`. */
  clients(): string[] {
    return [...new Set([...this.rules.map(({ client }) => String(client)), ...this.#exits])].sort()
  }

  /** Drafts can share statements and targets, so that their sum can exceed the size of the file. */
  #countDraft({ statement, notes, targets }: RuleDraft): void {
    this.spend(1 + notes.length + targets.length, statement)
  }

  /** Splits the listen ports into rules, or returns why that is not possible. */
  #pieces(draft: RuleDraft, targets: readonly DraftTarget[]): Piece[] | Reason {
    const { listen, statement } = draft
    const width = !isNamed(draft) && targets.every(({ kind }) => kind === 'shifted') ? maxRangePorts : 1
    const count = Math.ceil((listen.to - listen.from + 1) / width)
    if (count > maxRules - this.rules.length) return 'limit'
    this.spend(pieceSteps * (count - 1) * targets.length, statement)
    return splitPorts(listen, targets, width) ?? 'port'
  }

  #usableTargets({ client, targets }: RuleDraft): DraftTarget[] {
    const seen = new Set<string>()
    const usable: DraftTarget[] = []
    for (const { via: given, ...target } of targets) {
      const host = parseTargetHost(target.host)
      const via = pathAfter(this.#options.client ?? client, this.#options.exit ?? given)
      const key = `${host} ${target.kind} ${target.port} ${nameOf(via)}`
      if (host === null) this.verdicts.refuse(target.statement, 'target_host')
      else if (seen.has(key)) this.verdicts.approximate(target.statement, 'duplicate_target', null)
      else if (usable.length === maxTargets) this.verdicts.refuse(target.statement, 'limit')
      else usable.push({ ...target, host, ...(via !== undefined && { via }) })
      seen.add(key)
    }
    return usable
  }

  #entry(draft: RuleDraft, piece: Piece): RuleEntry {
    const several = piece.targets.length > 1
    const weights = scaleWeights(piece.targets)
    const isWeighted = draft.balance === 'round_robin' && new Set(weights).size > 1
    const balance = isWeighted ? 'weighted' : draft.balance
    const isTcp = draft.protocol === 'tcp'
    const [first, ...others] = piece.targets
    const isOnePath = others.every(({ via }) => nameOf(via) === nameOf(first?.via))
    const targets = piece.targets.map(({ host, finalPort, priority, via }, at) => ({
      host,
      port: finalPort,
      ...(!isOnePath && via !== undefined && { via: shortest(via) }),
      ...(several && { priority }),
      ...(several && weights[at] !== 1 && { weight: weights[at] })
    }))
    const entry: Record<string, unknown> = {
      client: this.#options.client ?? draft.client,
      owner: this.#options.owner,
      name: draft.name === null ? undefined : this.#freeName(draft.name),
      description: draft.description ?? undefined,
      listen_port: piece.from,
      listen_port_end: piece.to > piece.from ? piece.to : undefined,
      protocol: isTcp ? undefined : 'udp',
      via: isOnePath ? shortest(first?.via) : undefined,
      prefer_ipv6: draft.preferIpv6 || undefined,
      paused: draft.isPaused || undefined,
      sni_pattern: draft.sniPattern ?? undefined,
      sni_fallback: draft.isSniFallback || undefined,
      balance: several ? (balance ?? undefined) : undefined,
      slow_start_secs: several && balance !== null ? (draft.slowStartSecs ?? undefined) : undefined,
      health_check_interval_secs: isTcp ? (draft.healthCheckSecs ?? undefined) : undefined,
      proxy_in: draft.proxyIn ?? undefined,
      proxy_out: isTcp ? (draft.proxyOut ?? undefined) : undefined,
      allow_sources: draft.allowSources ?? undefined,
      deny_sources: draft.denySources ?? undefined,
      source_limit: sourceLimit(draft),
      rate_limit: Object.keys(draft.rateLimit).length > 0 ? { ...draft.rateLimit } : undefined,
      targets
    }
    return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined))
  }

  /** Returns the index of the rule: a new one, or an equal one that is there already; null if its port is taken. */
  #place(draft: RuleDraft, piece: Piece, entry: RuleEntry): number | null {
    const { name: _, description: __, ...rest } = entry
    const text = JSON.stringify(rest)
    const at = this.rules.length
    const group = `${entry['client']}/${draft.protocol}`
    const ports = this.#ports.get(group) ?? new Int32Array(lastPort + 1)
    this.#ports.set(group, ports)
    const holder = isNamed(draft)
      ? this.#joinShared(draft, `${group}/${piece.from}`, ports, { at, text })
      : holderOf(ports, piece)
    if (holder !== null) return this.#texts[holder] === text ? holder : null
    for (const name of piece.targets.flatMap(({ via = [] }) => via)) this.#exits.add(name)
    ports.fill(at + 1, piece.from, piece.to + 1)
    this.rules.push(entry)
    this.#texts.push(text)
    return at
  }

  /** Adds the rule to those that share its port. Returns the index of the rule that prevents this, or null. */
  #joinShared(
    { sniPattern, proxyIn, listen }: RuleDraft,
    key: string,
    ports: Int32Array,
    rule: Holder
  ): number | null {
    const pattern = sniPattern ?? ''
    const proxies = JSON.stringify(proxyIn)
    const shared = this.#shared.get(key)
    if (!shared) {
      const holder = holderOf(ports, listen)
      if (holder === null) this.#shared.set(key, { patterns: new Map([[pattern, rule]]), proxyIn: proxies })
      return holder
    }
    const other = shared.patterns.get(pattern)
    if (other) return other.at
    if (shared.proxyIn !== proxies) return [...shared.patterns.values()][0]?.at ?? null
    shared.patterns.set(pattern, rule)
    return null
  }

  #freeName(wanted: string): string | undefined {
    const name = wanted
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .slice(0, 56)
      .replaceAll(/^-+|-+$/g, '')
    if (name === '') return
    for (let number = this.#names.get(name) ?? 1; ; number += 1) {
      const free = number === 1 ? name : `${name}-${number}`
      if (number > 1 && this.#names.has(free)) continue
      this.#names.set(name, number + 1)
      if (number > 1) this.#names.set(free, 2)
      return free
    }
  }

  #judge(draft: RuleDraft, targets: readonly DraftTarget[], places: readonly number[]): void {
    const shown = places.slice(0, 5) // a row names four of them
    for (const at of shown) {
      this.verdicts.map(draft.statement, `rules[${at}]`)
      for (const { statement, field, reason } of draft.notes)
        this.#note(statement, reason, field === '' ? `rules[${at}]` : `rules[${at}].${field}`)
      for (const [index, { statement, reason }] of targets.entries())
        this.#note(statement, reason, `rules[${at}].targets[${index}]`)
    }
  }

  #note(statement: Statement, reason: Reason | null, place: string): void {
    if (reason === null) this.verdicts.map(statement, place)
    else this.verdicts.approximate(statement, reason, place)
  }
}

function sourceLimit({ sourceConnections, sourceRate }: RuleDraft): RuleEntry | undefined {
  if (sourceConnections === null && sourceRate === null) return
  return {
    ...(sourceConnections !== null && { connections: sourceConnections }),
    ...(sourceRate !== null && { new_connections: sourceRate.count, within_secs: sourceRate.secs })
  }
}

/** Returns the part of a path after the client that listens; undefined if there is none. */
function pathAfter(
  client: string,
  path: string | readonly string[] | undefined
): readonly string[] | undefined {
  const names = path === undefined ? [] : [path].flat()
  const rest = names.slice(names.lastIndexOf(client) + 1)
  return rest.length > 0 ? rest : undefined
}

/** Names of clients have no spaces. */
const nameOf = (path: readonly string[] | undefined): string => path?.join(' ') ?? ''

const shortest = (path: readonly string[] | undefined): string | readonly string[] | undefined =>
  path?.length === 1 ? path[0] : path

/** True for rules that share a port by TLS name. */
const isNamed = ({ sniPattern, isSniFallback }: RuleDraft): boolean => sniPattern !== null || isSniFallback

const loopback: readonly string[] = ['127.0.0.0/8', '::1']

/** Lets only callers on the host use a rule for a loopback listener, because rules listen on all addresses. */
function keepLocal(draft: RuleDraft): void {
  if (draft.proxyIn !== null) draft.proxyIn = loopback
  else draft.allowSources ??= loopback
}

const isLocal = ({ proxyIn, allowSources }: RuleDraft): boolean =>
  proxyIn === loopback || allowSources === loopback

/** Returns why a rule cannot be made, or null. */
function problemOf(draft: RuleDraft, targets: readonly DraftTarget[]): Reason | null {
  if (isLoopback(draft.listenHost) && !isLocal(draft)) return 'listen_address'
  if (targets.length === 0) return 'no_target'
  if (draft.allowSources?.length === 0) return 'source_rules' // a list that lets nobody in
  if (targets.every(({ weight }) => weight === 0)) return 'disabled'
  if (draft.protocol === 'udp' && isNamed(draft)) return 'protocol'
  if (draft.protocol === 'udp' && targets.some(({ via }) => via !== undefined)) return 'udp_over_link'
  return tooManySources(draft) ? 'limit' : null
}

const tooManySources = ({ allowSources, denySources, proxyIn }: RuleDraft): boolean =>
  (allowSources?.length ?? 0) > maxSources ||
  (denySources?.length ?? 0) > maxSources ||
  (proxyIn?.length ?? 0) > maxProxies

/** Returns the index of the first rule that has one of the ports, or null. */
function holderOf(
  ports: Int32Array,
  { from, to }: { readonly from: number; readonly to: number }
): number | null {
  for (let port = from; port <= to; port += 1) {
    const holder = ports[port] ?? 0
    if (holder > 0) return holder - 1
  }
  return null
}

/** Splits listen ports into rules; returns null if a port is out of range. A fixed target port needs a rule for each port. */
function splitPorts(listen: Ports, targets: readonly DraftTarget[], width: number): Piece[] | null {
  const pieces: Piece[] = []
  for (let from = listen.from; from <= listen.to; from += width) {
    const to = Math.min(listen.to, from + width - 1)
    const placed = targets.map(target => ({
      ...target,
      finalPort: target.kind === 'fixed' ? target.port : from + target.port
    }))
    if (placed.some(({ finalPort }) => finalPort < 1 || finalPort + to - from > lastPort)) return null
    pieces.push({ from, to, targets: placed })
  }
  return withoutEqualTargets(pieces)
}

/** Drops targets that are equal for one listen port: `fixed` 80 and `shifted` by 0 at port 80. */
const withoutEqualTargets = (pieces: readonly Piece[]): Piece[] =>
  pieces.map(piece => {
    const seen = new Set<string>()
    const targets = piece.targets.filter(({ host, finalPort, via }) => {
      const key = `${host} ${finalPort} ${nameOf(via)}`
      const isNew = !seen.has(key)
      seen.add(key)
      return isNew
    })
    return { ...piece, targets }
  })

function scaleWeights(targets: readonly DraftTarget[]): number[] {
  const most = Math.max(...targets.map(({ weight }) => weight))
  const scaled = targets.map(({ weight }) =>
    most <= maxWeight || weight === 0 ? weight : Math.max(1, Math.round((weight * maxWeight) / most))
  )
  const divisor = scaled.reduce(greatestDivisor, 0)
  return scaled.map(weight => weight / divisor)
}

const greatestDivisor = (one: number, other: number): number =>
  other === 0 ? one : greatestDivisor(other, one % other)
