// gost: TCP and UDP forwarding of YAML and JSON files, and of command lines with -L and -F.
import { isAnyAddress, type Ports, parsePorts, parsePrefix, splitHostPort } from '../address.ts'
import { addressSteps, type Conversion } from '../conversion.ts'
import { followWay, GostChains, GostNodes, type GostWay, type NamedTable, wayOf } from '../gost-chains.ts'
import type { Reason } from '../reasons.ts'
import type { Statement } from '../report.ts'
import { addNotes, anySource, type Note, openDraft, type RuleDraft } from '../rule-draft.ts'
import type { SourceFile } from '../source-file.ts'
import { splitWords } from '../split-words.ts'
import { parseStructured } from '../structured-file.ts'
import { TableReader } from '../table-reader.ts'

type Forward = 'tcp' | 'udp'

export function convertGost(files: readonly SourceFile[], conversion: Conversion): void {
  const nodes = new GostNodes(files)
  for (const file of files) {
    if (isLines.test(firstLine(file.text))) convertLines({ file, conversion, nodes })
    else convertFile({ file, conversion, nodes })
  }
}

/** A command line, perhaps after a prompt. */
const isLines = /^\s*(?:[$#]\s+)?(?:sudo\s+)?(?:\S*gost(?:\.exe)?\s|-[A-Z])/

/** Returns the first line that is neither empty nor a comment. */
const firstLine = (text: string): string =>
  text.split('\n').find(line => line.trim() !== '' && !isComment(line)) ?? ''

/** `# gost -L ...` is a command after a prompt. */
const isComment = (line: string): boolean =>
  line.trimStart().startsWith('#') && !/^\s*#\s+\S*gost\s+-/.test(line)

interface Input {
  readonly file: SourceFile
  readonly conversion: Conversion
  readonly nodes: GostNodes
}

// Files

/** Objects that services name. */
interface Named {
  readonly admissions: ReadonlyMap<string, NamedTable>
  readonly limiters: ReadonlyMap<string, NamedTable>
  readonly climiters: ReadonlyMap<string, NamedTable>
  readonly rlimiters: ReadonlyMap<string, NamedTable>
}

/** A file, and the objects that its services name. */
interface FileContext extends Input {
  readonly limits: Limits
  readonly chains: GostChains
  readonly targets: Map<string, readonly ForwardNode[]> // of hops
}

function convertFile(input: Input): void {
  const { file, conversion } = input
  const root = new TableReader(parseStructured(file, 'yaml'), file.name, conversion)
  const named = {
    admissions: byName(root, 'admissions'),
    limiters: byName(root, 'limiters'),
    climiters: byName(root, 'climiters'),
    rlimiters: byName(root, 'rlimiters')
  }
  const limits = new Limits(named, conversion)
  const chains = new GostChains({ chains: byName(root, 'chains'), hops: byName(root, 'hops') }, input)
  const context = { ...input, limits, chains, targets: new Map() }
  for (const service of root.takeTables('services')) addService(service, context)
  limits.finish()
  chains.finish()
  convertUrls(root, context)
  for (const route of root.takeTables('Routes')) {
    conversion.verdicts.map(route.statement, null)
    convertUrls(route, context)
    route.finish()
  }
  for (const key of ['log', 'loggers', 'metrics', 'profiling', 'api', 'observers', 'recorders'])
    root.ignore(key, 'logging')
  for (const key of ['resolvers', 'hosts']) root.refuse(key, 'resolver')
  for (const key of ['routers', 'sds', 'ingresses']) root.refuse(key, 'chain')
  for (const key of ['authers', 'tls', 'bypasses', 'probeResistance']) root.refuse(key, 'proxy_server')
  root.finish()
}

const byName = (root: TableReader, key: string): ReadonlyMap<string, NamedTable> =>
  new Map(
    root.takeTables(key).map(table => {
      const name = table.takeText('name')
      return [name?.value ?? '', { table, statements: [table.statement, ...(name ? [name.statement] : [])] }]
    })
  )

type Text = ReturnType<TableReader['takeText']>

/** The parts of a service that say what it is. */
interface Parts {
  readonly service: TableReader
  readonly handler: TableReader | null
  readonly listener: TableReader | null
  readonly handlerType: Text
  readonly listenerType: Text
  readonly kind: Kind
}

function addService(service: TableReader, context: FileContext): void {
  const { conversion, limits } = context
  const name = service.takeText('name')
  const addr = service.takeText('addr')
  const handler = service.takeTable('handler')
  const listener = service.takeTable('listener')
  const forwarder = service.takeTable('forwarder')
  const handlerType = handler?.takeText('type') ?? null
  const listenerType = listener?.takeText('type') ?? null
  const kind = kindOf(handlerType?.value ?? 'auto', listenerType?.value ?? null)
  const parts = { service, handler, listener, handlerType, listenerType, kind }
  const { way, chosen } = readWay(parts, context)
  const { host, ports } = splitHostPort(addr?.value ?? '')
  const range = ports === null ? null : parsePorts(ports)
  const draft = openDraft({
    client: way.client,
    statement: service.statement,
    listen: range ?? { from: 1, to: 1 },
    listenHost: host,
    protocol: kind.protocol
  })
  draft.name = name?.value ?? null
  if (name) draft.notes.push({ statement: name.statement, field: 'name', reason: null })
  if (addr)
    draft.notes.push({
      statement: addr.statement,
      field: 'listen_port',
      reason: isAnyAddress(host) ? null : 'listen_address'
    })
  addNotes(draft, chosen)
  const isLimited = limits.apply(service, draft)
  readParts(parts, draft)
  const ofNodes = forwarder ? addForwarder(forwarder, draft, context) : null
  followWay(draft, way)
  for (const part of [service, handler, listener, forwarder]) part?.finish(kind.problem ?? undefined)
  const problem = kind.problem ?? way.problem ?? (isLimited ? null : 'source_rules') ?? ofNodes
  if (problem !== null) conversion.refuseRule(draft, problem)
  else if (range === null) conversion.refuseRule(draft, 'port')
  else conversion.addRule(draft)
}

/** Reads the chains of a service: that of a remote listener opens the port, the other one leads to the targets. */
function readWay(
  { service, handler, listener, kind }: Parts,
  { file, chains, conversion }: FileContext
): { readonly way: GostWay; readonly chosen: readonly Note[] } {
  const ofService = service.takeText('chain')
  const ofHandler = handler?.takeText('chain') ?? null
  const ofListener = listener?.takeText('chain') ?? null
  const opened = kind.isRemote ? (ofListener ?? ofService) : null
  const dialed = kind.isRemote ? ofHandler : (ofHandler ?? ofService)
  for (const chain of [ofService, ofHandler, ofListener])
    if (chain) conversion.verdicts.leaveUnused(chain.statement)
  const groups = [service, handler, listener].filter(part => part?.has('chainGroup') === true)
  for (const part of groups) part?.refuse('chainGroup', 'chain')
  const way = wayOf(
    file.client,
    opened ? chains.find(opened.value) : null,
    dialed ? chains.find(dialed.value) : null
  )
  const chosen = [opened, dialed].flatMap(chain =>
    chain ? [{ statement: chain.statement, field: 'via', reason: null }] : []
  )
  return { way: groups.length > 0 ? { ...way, problem: 'chain' } : way, chosen }
}

/** Reads what a service, its handler and its listener have in common. */
function readParts(
  { service, handler, listener, handlerType, listenerType, kind }: Parts,
  draft: RuleDraft
): void {
  for (const part of [handler, listener, handlerType, listenerType])
    if (part) draft.notes.push({ statement: part.statement, field: 'protocol', reason: null })
  for (const part of [service, handler, listener]) {
    for (const key of ['resolver', 'hosts', 'bypass', 'bypasses', 'ingress']) part?.refuse(key, 'resolver')
    for (const key of ['recorders', 'observer', 'logger', 'loggers', 'status', 'url'])
      part?.ignore(key, 'logging')
    part?.refuse('tls', 'tls_termination')
    for (const key of ['auth', 'auther', 'authers']) part?.ignore(key, 'secret')
    if (part) addNotes(draft, part.noteAll(['interface', 'sockopts', 'netns', 'netnsOut'], 'dial_from'))
  }
  for (const [name, part] of [
    ['service', service],
    ['handler', handler],
    ['listener', listener]
  ] as const) {
    const metadata = part?.takeTable('metadata') ?? null
    if (metadata) readMetadata(metadata, name, draft)
    metadata?.finish(kind.problem ?? undefined)
  }
}

/** The kind of a service, by its handler and listener. */
interface Kind {
  readonly protocol: Forward
  readonly isRemote: boolean // the last node of its chain opens the port
  readonly problem: Reason | null // it is no plain forwarding
}

const remoteTypes = /^(rtcp|rudp|runix)$/

/** The handlers that forward are one: the listener chooses the protocol. */
function kindOf(handler: string, listener: string | null): Kind {
  const isRemote = remoteTypes.test(handler) || remoteTypes.test(listener ?? '')
  const carrier = listener ?? (isRemote ? handler : handler === 'udp' ? 'udp' : 'tcp')
  const protocol = carrier === 'udp' || carrier === 'rudp' ? 'udp' : 'tcp'
  const isForward = /^(tcp|udp|forward|rtcp|rudp)$/.test(handler)
  const problem = !isForward
    ? 'proxy_server'
    : /^r?unix$/.test(carrier)
      ? 'unix_socket'
      : /^(tcp|udp|rtcp|rudp)$/.test(carrier)
        ? null
        : /^m?tls$/.test(carrier)
          ? 'tls_termination'
          : 'transport'
  return { protocol, isRemote, problem }
}

/** Adds the targets. Returns why there are none, if their conditions are the reason. */
function addForwarder(forwarder: TableReader, draft: RuleDraft, context: FileContext): Reason | null {
  const selector = forwarder.takeTable('selector')
  const strategy = selector?.takeText('strategy') ?? forwarder.takeText('strategy')
  draft.notes.push({ statement: forwarder.statement, field: 'targets', reason: null })
  if (selector) {
    draft.notes.push({ statement: selector.statement, field: 'balance', reason: null })
    addNotes(draft, selector.noteAll(['maxFails', 'failTimeout'], 'failover'))
    selector.finish()
  }
  setStrategy(draft, strategy?.value ?? 'round', strategy?.statement ?? null)
  const hasNodes = forwarder.has('nodes') || forwarder.has('targets')
  const hop = forwarder.takeText('hop') ?? (hasNodes ? null : forwarder.takeText('name'))
  forwarder.ignore('name', 'structure')
  if (hop) draft.notes.push({ statement: hop.statement, field: 'targets', reason: null })
  const shared = hop ? nodesOfHop(hop.value, context) : []
  const own = forwarder.takeTables('nodes').map(node => readNode(node, context.conversion))
  for (const node of [...shared, ...own]) addNode(node, draft)
  const items = forwarder.takeItems('targets') // of early versions
  for (const [at, { value, statement }] of items.entries())
    addTarget(draft, value, { statement, priority: draft.balance === null ? at : 0, weight: 1 })
  return draft.targets.length > 0
    ? null
    : ([...shared, ...own].find(({ problem }) => problem !== null)?.problem ?? null)
}

/** Returns the nodes of a hop, which several forwarders can name. */
function nodesOfHop(name: string, { chains, targets, conversion }: FileContext): readonly ForwardNode[] {
  const known = targets.get(name)
  if (known) return known
  const hop = chains.takeHop(name)
  const nodes = hop ? hop.table.takeTables('nodes').map(node => readNode(node, conversion)) : []
  const [first] = nodes
  const own = (hop?.statements ?? []).map(statement => ({ statement, field: 'targets', reason: null }))
  const all = first ? [{ ...first, notes: [...own, ...first.notes] }, ...nodes.slice(1)] : nodes
  for (const key of ['selector', 'bypass', 'bypasses', 'plugin', 'file', 'redis', 'http', 'reload'])
    hop?.table.refuse(key, 'chain')
  hop?.table.finish()
  targets.set(name, all)
  return all
}

/** A target of a forwarder. */
interface ForwardNode {
  readonly address: string
  readonly statement: Statement
  readonly notes: readonly Note[]
  readonly weight: number
  readonly isBackup: boolean
  readonly problem: Reason | null
}

function setStrategy(draft: RuleDraft, strategy: string, statement: Statement | null): void {
  const known: Readonly<Record<string, RuleDraft['balance']>> = {
    round: 'round_robin',
    rand: 'round_robin',
    random: 'round_robin',
    hash: 'source_hash',
    fifo: null,
    ha: null
  }
  const isKnown = Object.hasOwn(known, strategy)
  const isExact = isKnown && !strategy.startsWith('rand')
  draft.balance = isKnown ? (known[strategy] ?? null) : 'round_robin'
  if (statement) draft.notes.push({ statement, field: 'balance', reason: isExact ? null : 'balance' })
}

function readNode(node: TableReader, { verdicts }: Conversion): ForwardNode {
  const addr = node.takeText('addr')
  const name = node.takeText('name')
  const metadata = node.takeTable('metadata')
  const weightText = metadata?.takeText('weight')
  const weight = Number(weightText?.value ?? 1)
  const backup = metadata?.takeText('backup')
  const failover = metadata?.noteAll(['maxFails', 'failTimeout'], 'failover') ?? []
  const filters = ['filter', 'host', 'protocol', 'matcher', 'path'].filter(key => node.has(key))
  for (const key of filters) node.refuse(key, key === 'protocol' ? 'protocol' : 'http_routing')
  for (const key of ['http', 'auth']) node.refuse(key, 'http_routing')
  node.refuse('tls', 'tls_to_target')
  node.refuse('bypass', 'resolver')
  metadata?.finish()
  node.finish()
  const problem: Reason | null =
    filters.length === 0 ? null : filters.every(key => key === 'protocol') ? 'protocol' : 'http_routing'
  const shown = [node, name, weightText, backup, metadata, ...(problem === null ? [] : [addr])]
  if (problem !== null) for (const part of shown) if (part) verdicts.refuse(part.statement, problem)
  return {
    address: addr?.value ?? '',
    statement: addr?.statement ?? node.statement,
    notes: [
      ...shown.flatMap(part => (part ? [{ statement: part.statement, field: 'targets', reason: null }] : [])),
      ...failover
    ],
    weight: Number.isSafeInteger(weight) && weight > 0 ? weight : 1,
    isBackup: backup?.value === 'true',
    problem
  }
}

function addNode(
  { address, statement, notes, weight, isBackup, problem }: ForwardNode,
  draft: RuleDraft
): void {
  addNotes(draft, notes)
  if (problem !== null) return
  addTarget(draft, address, {
    statement,
    priority: isBackup ? 1 : draft.balance === null ? draft.targets.length : 0,
    weight
  })
}

/** A range of target ports counts along with a range of listen ports. For one listen port, each of its ports is a target. */
function addTarget(
  draft: RuleDraft,
  text: string,
  {
    statement,
    priority,
    weight
  }: { readonly statement: Statement; readonly priority: number; readonly weight: number }
): void {
  const { host, ports } = splitHostPort(text)
  const range = ports === null ? null : parsePorts(ports)
  const target = { host: range === null ? '' : host || '127.0.0.1', priority, weight, statement }
  if (range === null || range.from === range.to)
    draft.targets.push({ ...target, port: range?.from ?? 0, kind: 'fixed', reason: null })
  else if (sizeOf(draft.listen) === 1)
    for (let port = range.from; port <= range.to; port += 1) {
      if (port > range.from && draft.targets.length > maxTargets) break // it is refused
      draft.targets.push({ ...target, port, kind: 'fixed', reason: null })
    }
  else
    draft.targets.push({
      ...target,
      port: range.from - draft.listen.from,
      kind: 'shifted',
      reason: sizeOf(range) === sizeOf(draft.listen) ? null : 'port'
    })
}

const maxTargets = 8 // of a rule: one more is refused

const sizeOf = ({ from, to }: Ports): number => to - from + 1

function readMetadata(
  metadata: TableReader,
  part: 'service' | 'handler' | 'listener',
  draft: RuleDraft
): void {
  draft.notes.push({ statement: metadata.statement, field: '', reason: null })
  const proxy = metadata.takeText('proxyProtocol')
  if (proxy) {
    const isIn = part !== 'handler'
    const isTcp = draft.protocol === 'tcp'
    const isOff = proxy.value === '0'
    if (isIn && isTcp && !isOff) draft.proxyIn = anySource
    if (!isIn && /^[12]$/.test(proxy.value)) draft.proxyOut = proxy.value === '1' ? 1 : 2
    draft.notes.push({
      statement: proxy.statement,
      field: isIn ? 'proxy_in' : 'proxy_out',
      reason: isOff || (!isIn && isTcp) ? null : 'proxy_header' // gost also takes callers without a header
    })
  }
  addNotes(
    draft,
    metadata.noteAll(['ttl', 'readTimeout', 'idleTimeout', 'keepAlive', 'keepalive'], 'timeout')
  )
  for (const key of [
    'readBufferSize',
    'udpBufferSize',
    'backlog',
    'readQueueSize',
    'mptcp',
    'enableStats',
    'mux',
    'limiter.refreshInterval'
  ])
    metadata.ignore(key, 'tuning')
  const sniffing = metadata.takeText('sniffing')
  if (sniffing)
    draft.notes.push({
      statement: sniffing.statement,
      field: '',
      reason: sniffing.value === 'true' ? 'http_routing' : null
    })
}

/** Admissions and limiters, which services name. */
class Limits {
  readonly #named: Named
  readonly #conversion: Conversion
  readonly #parts = new Map<NamedTable, ListParts>()

  constructor(named: Named, conversion: Conversion) {
    this.#named = named
    this.#conversion = conversion
  }

  /** Sets the filters and limits of a service. Returns false if a filter cannot be expressed: the rule must not open. */
  apply(service: TableReader, draft: RuleDraft): boolean {
    let isWhole = true
    for (const key of ['admission', 'admissions', 'limiter', 'climiter', 'rlimiter']) {
      const taken = service.take(key)
      if (!taken) continue
      draft.notes.push({ statement: taken.statement, field: '', reason: null })
      const names = Array.isArray(taken.value) ? taken.value.map(String) : [String(taken.value)]
      for (const name of names) {
        const isFilter = key.startsWith('admission')
        const group = isFilter
          ? this.#named.admissions
          : this.#named[key === 'limiter' ? 'limiters' : key === 'climiter' ? 'climiters' : 'rlimiters']
        const found = group.get(name)
        if (!found) {
          if (isFilter) isWhole = false
          this.#conversion.verdicts.refuse(taken.statement, 'not_used')
        } else if (isFilter) isWhole = this.#admit(found, draft) && isWhole
        else this.#limit(found, key, draft)
      }
    }
    return isWhole
  }

  #admit(found: NamedTable, draft: RuleDraft): boolean {
    const { lists, isWhitelist, isPlain, statements } = this.#read(found, 'matchers')
    this.#conversion.spend(addressSteps * lists.length + (draft.denySources?.length ?? 0), draft.statement)
    const prefixes = lists.map(({ text }) => parsePrefix(text))
    for (const statement of statements)
      draft.notes.push({ statement, field: isWhitelist ? 'allow_sources' : 'deny_sources', reason: null })
    if (!isPlain || prefixes.includes(null)) return false
    const sources = prefixes.filter(prefix => prefix !== null)
    if (isWhitelist && draft.allowSources !== null) return false // both lists would have to match
    if (isWhitelist) draft.allowSources = sources
    else draft.denySources = [...(draft.denySources ?? []), ...sources]
    return true
  }

  #limit(found: NamedTable, key: string, draft: RuleDraft): void {
    const { lists, statements } = this.#read(found, 'limits')
    this.#conversion.spend(addressSteps * lists.length, draft.statement)
    const fields = new Set<string>()
    let isWhole = true
    for (const { text } of lists) {
      const [scope = '', first = '', second = first] = text.trim().split(/\s+/)
      const amount = Number(first)
      if (key === 'limiter' && scope === '$') {
        for (const [name, size] of [
          ['bandwidth_in_bps', first],
          ['bandwidth_out_bps', second]
        ] as const) {
          const bits = parseSize(size)
          if (bits !== null) draft.rateLimit[name] = bits
          fields.add('rate_limit')
        }
      } else if (key === 'climiter' && scope === '$' && Number.isSafeInteger(amount) && amount > 0) {
        draft.rateLimit['concurrent_connections'] = amount
        fields.add('rate_limit')
      } else if (key === 'climiter' && scope === '$$' && Number.isSafeInteger(amount) && amount > 0) {
        draft.sourceConnections = Math.min(amount, 1_000_000)
        fields.add('source_limit')
      } else if (key === 'rlimiter' && scope === '$' && amount >= 1) {
        draft.rateLimit['new_connections_per_sec'] = Math.round(amount)
        fields.add('rate_limit')
      } else isWhole = false
    }
    for (const statement of statements) {
      if (fields.size === 0) this.#conversion.verdicts.refuse(statement, 'source_limit')
      else
        draft.notes.push({
          statement,
          field: [...fields].sort()[0] ?? '',
          reason: isWhole ? null : 'source_limit'
        })
    }
  }

  #read(found: NamedTable, key: 'matchers' | 'limits'): ListParts {
    const known = this.#parts.get(found)
    if (known) return known
    const { table } = found
    const list = table.take(key)
    const whitelist = table.takeText('whitelist') ?? table.takeText('reverse')
    const values = list === null ? [] : [list.value].flat()
    const parts: ListParts = {
      lists: values.map(text => ({ text: String(text) })),
      isWhitelist: whitelist?.value === 'true',
      isPlain: ![key, 'file', 'redis', 'http', 'plugin'].some(name => table.has(name)),
      statements: [
        ...found.statements,
        ...(list ? [list.statement] : []),
        ...(whitelist ? [whitelist.statement] : [])
      ]
    }
    this.#parts.set(found, parts)
    return parts
  }

  /** Judges objects that no service names. */
  finish(): void {
    for (const found of Object.values(this.#named).flatMap(group => [...group.values()] as NamedTable[])) {
      const { table, statements } = found
      if (!this.#parts.has(found)) {
        for (const statement of statements) this.#conversion.verdicts.ignore(statement, 'not_used')
        for (const key of ['matchers', 'limits', 'whitelist', 'reverse', 'file', 'redis', 'http', 'plugin'])
          table.ignore(key, 'not_used')
      }
      table.finish()
    }
  }
}

interface ListParts {
  readonly lists: readonly { readonly text: string }[]
  readonly isWhitelist: boolean
  readonly isPlain: boolean // the whole list is in the file
  readonly statements: readonly Statement[]
}

/** Returns bits per second for bytes such as `100MB` or `512KB`; null for other text and 0. */
function parseSize(text: string): number | null {
  const [, digits, unit = ''] = /^(\d{1,12})\s*([KMGT]?)i?B?$/i.exec(text) ?? []
  if (digits === undefined) return null
  const bits = Number(digits) * 1024 ** ['', 'K', 'M', 'G', 'T'].indexOf(unit.toUpperCase()) * 8
  return bits > 0 && Number.isSafeInteger(bits) ? bits : null
}

// Command lines

interface Word {
  readonly text: string
  readonly line: number
}

/** A backslash at the end of a line continues it. */
function convertLines(input: Input): void {
  const { file } = input
  let words: Word[] = []
  for (const [at, raw] of file.text.split('\n').entries()) {
    const text = raw.trim()
    if (words.length === 0 && isComment(text)) continue
    const isContinued = text.endsWith('\\')
    const own = splitWords(isContinued ? text.slice(0, -1) : text, file.name, at + 1)
    for (const word of own) words.push({ text: word, line: at + 1 })
    if (isContinued) continue
    convertLine(words, input)
    words = []
  }
  convertLine(words, input)
}

interface Url {
  readonly url: string
  readonly statement: Statement
}

function convertLine(words: readonly Word[], input: Input): void {
  const { file, conversion, nodes } = input
  const { verdicts } = conversion
  const listens: Url[] = []
  const forwards: Url[] = []
  let option: string | null = null
  for (const { text: word, line } of words) {
    const [, joined, value = ''] = /^-{1,2}([A-Z])=?(.*)$/s.exec(word) ?? []
    if (option === null && joined !== undefined && value === '' && /^[LFCOMS]$/.test(joined)) {
      option = joined
      continue
    }
    const name: string | undefined = option ?? joined
    const text = option === null && name !== undefined ? value : word
    option = null
    const shown = maskUrl(text)
    const statement = conversion.statement(
      file.name,
      line,
      name === undefined ? shown : `-${name} ${shown}`,
      shown === text ? 'none' : 'left_out'
    )
    if (name === undefined) {
      if (/(^|\/)gost(\.exe)?$|^(sudo|exec|[$#])$/.test(word)) verdicts.ignore(statement, 'structure')
    } else if (name === 'L') listens.push({ url: text, statement })
    else if (name === 'F') forwards.push({ url: text, statement })
    else if (name !== 'C') verdicts.ignore(statement, 'logging')
    else verdicts.refuse(statement, 'include')
  }
  const none = { chains: new Map(), hops: new Map() }
  addListens(listens, forwards, { ...input, chains: new GostChains(none, { nodes, file, conversion }) })
}

type UrlContext = Pick<FileContext, 'file' | 'conversion' | 'chains'>

/** Makes rules of URLs to listen at, which share the chain of the URLs to forward to. */
function addListens(listens: readonly Url[], forwards: readonly Url[], context: UrlContext): void {
  const { verdicts } = context.conversion
  for (const { statement } of forwards) verdicts.leaveUnused(statement)
  const chain = forwards.length > 0 ? context.chains.readUrls(forwards) : null
  for (const listen of listens) addListen(listen, chain, context)
}

/** Converts the lists of URLs of version 2: `ServeNodes`, and the chain in `ChainNodes`. */
function convertUrls(table: TableReader, context: UrlContext): void {
  const take = (key: string): Url[] =>
    table.takeItems(key, maskUrl).map(({ value, statement }) => ({ url: value, statement }))
  addListens(take('ServeNodes'), take('ChainNodes'), context)
  for (const key of ['Retries', 'Debug', 'Mark', 'Interface']) table.ignore(key, 'tuning')
}

/** Hides user and password, and values of secret parameters. */
const maskUrl = (text: string): string =>
  text
    .replaceAll(text.includes('://') ? /(:\/\/)[^\s"'@]{1,512}@/g : /(^)[^\s"'@]{1,512}@/g, '$1***@')
    .replaceAll(/([?&][\w.]{0,40}(?:(?<!by)pass|secret|token|auth|key)[\w.]{0,40}=)[^&\s]*/gi, '$1***')

/** Listeners that a URL can name without a handler: they carry plain forwarding to the address in its path. */
const carriers = /^(m?tls|m?ws|m?wss|kcp|quic|h2|h2c|grpc|dtls|obfs-http|obfs-tls)$/

function addListen(
  { url, statement }: Url,
  chain: ReturnType<GostChains['find']> | null,
  { file, conversion }: UrlContext
): void {
  const [, scheme = 'auto', , address = '', path = '', query = ''] =
    /^(?:([\w+.-]+):\/\/)?([^/?@]*@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(url) ?? []
  const [first = '', second] = scheme.toLowerCase().split('+')
  const isCarrier = second === undefined && path !== '' && carriers.test(first)
  const kind = isCarrier ? kindOf('forward', first) : kindOf(first, second ?? null)
  const way = kind.isRemote ? wayOf(file.client, chain, null) : wayOf(file.client, null, chain)
  const { host, ports } = splitHostPort(address)
  const range = ports === null ? null : parsePorts(ports)
  const draft = openDraft({
    client: way.client,
    statement,
    listen: range ?? { from: 1, to: 1 },
    listenHost: host,
    protocol: kind.protocol
  })
  const parameters = new URLSearchParams(query)
  const reasons: Reason[] = isAnyAddress(host) ? [] : ['listen_address']
  setStrategy(draft, parameters.get('strategy') ?? 'round', null)
  if (/^rand/.test(parameters.get('strategy') ?? '')) reasons.push('balance')
  const unknown: Reason[] = []
  for (const [name, value] of parameters) unknown.push(...readParameter(name, value, draft, reasons))
  const texts = path.split(',').filter(text => text !== '')
  for (const [at, text] of texts.entries())
    addTarget(draft, text, { statement, priority: draft.balance === null ? at : 0, weight: 1 })
  followWay(draft, way)
  const [reason = null] = reasons
  draft.notes.push({ statement, field: '', reason })
  const problem = kind.problem ?? way.problem ?? unknown[0] ?? null
  if (problem !== null) conversion.refuseRule(draft, problem)
  else if (range === null) conversion.refuseRule(draft, 'port')
  else conversion.addRule(draft)
}

/** Sets the field of a parameter, or adds the difference to `reasons`. Returns why the rule must be refused. */
function readParameter(
  given: string,
  value: string,
  draft: RuleDraft,
  reasons: Note['reason'][] & Reason[]
): Reason[] {
  const [, scope = 'service', name = given] = /^(service|handler|listener)\.(.+)$/.exec(given) ?? []
  if (name === 'strategy') return []
  if (/^(max_?fails|fail_?timeout)$/i.test(name)) reasons.push('failover')
  else if (/^(ttl|keepalive|(read|idle)timeout)$/i.test(name)) reasons.push('timeout')
  else if (/^(interface|so_mark|netns)$/i.test(name)) reasons.push('dial_from')
  else if (/^(\w*buffersize|backlog|mptcp)$/i.test(name)) return []
  else if (name === 'proxyProtocol' && draft.protocol === 'tcp') setHeader(scope, value, draft, reasons)
  else if (name === 'climiter' && /^[1-9]\d{0,8}$/.test(value))
    draft.rateLimit['concurrent_connections'] = Number(value)
  else if (name === 'rlimiter' && /^[1-9]\d{0,8}$/.test(value))
    draft.rateLimit['new_connections_per_sec'] = Number(value)
  else if (name === 'limiter.in' && parseSize(value) !== null)
    draft.rateLimit['bandwidth_in_bps'] = parseSize(value) ?? 1
  else if (name === 'limiter.out' && parseSize(value) !== null)
    draft.rateLimit['bandwidth_out_bps'] = parseSize(value) ?? 1
  else if (/^limiter\.conn\.(in|out)$/.test(name)) reasons.push('connection_limit')
  else if (name === 'admission') return admit(value, draft) ? [] : ['source_rules']
  else return ['unknown_statement']
  return []
}

/** Reads `10.0.0.0/8,192.0.2.1`, callers that are refused, and `~10.0.0.0/8`, the only ones that are not. */
function admit(value: string, draft: RuleDraft): boolean {
  const isWhitelist = value.startsWith('~')
  const prefixes = value
    .slice(isWhitelist ? 1 : 0)
    .split(',')
    .map(text => parsePrefix(text.trim()))
  if (prefixes.includes(null)) return false
  const sources = prefixes.filter(prefix => prefix !== null)
  if (isWhitelist) draft.allowSources = sources
  else draft.denySources = sources
  return true
}

/** A handler sends the header. The other parts take it, also from callers without one, which a rule refuses. */
function setHeader(scope: string, value: string, draft: RuleDraft, reasons: Reason[]): void {
  if (scope === 'handler') draft.proxyOut = value === '1' ? 1 : value === '2' ? 2 : null
  else if (value !== '0') {
    draft.proxyIn = anySource
    reasons.push('proxy_header')
  }
}
