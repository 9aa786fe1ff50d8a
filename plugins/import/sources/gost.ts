// gost: TCP and UDP forwarding of YAML and JSON files, and of command lines with -L and -F.
import { isAnyAddress, type Ports, parsePorts, parsePrefix, splitHostPort } from '../address.ts'
import { addressSteps, type Conversion } from '../conversion.ts'
import type { Reason } from '../reasons.ts'
import type { Statement } from '../report.ts'
import { addNotes, anySource, type Note, openDraft, type RuleDraft } from '../rule-draft.ts'
import type { SourceFile } from '../source-file.ts'
import { splitWords } from '../split-words.ts'
import { parseStructured } from '../structured-file.ts'
import { TableReader } from '../table-reader.ts'

type Forward = 'tcp' | 'udp'

export function convertGost(files: readonly SourceFile[], conversion: Conversion): void {
  for (const file of files) {
    if (/^\s*(?:\S*gost\s|-[A-Z])/m.test(firstLine(file.text))) convertLines(file, conversion)
    else convertFile(file, conversion)
  }
}

/** Returns the first line that is neither empty nor a comment. */
const firstLine = (text: string): string =>
  text.split('\n').find(line => line.trim() !== '' && !line.trimStart().startsWith('#')) ?? ''

// Files

/** Objects that services name. */
interface Named {
  readonly admissions: ReadonlyMap<string, NamedTable>
  readonly limiters: ReadonlyMap<string, NamedTable>
  readonly climiters: ReadonlyMap<string, NamedTable>
  readonly rlimiters: ReadonlyMap<string, NamedTable>
}

function convertFile(file: SourceFile, conversion: Conversion): void {
  const root = new TableReader(parseStructured(file, 'yaml'), file.name, conversion)
  const named = {
    admissions: byName(root, 'admissions'),
    limiters: byName(root, 'limiters'),
    climiters: byName(root, 'climiters'),
    rlimiters: byName(root, 'rlimiters')
  }
  const limits = new Limits(named, conversion)
  for (const service of root.takeTables('services')) addService(service, limits, file, conversion)
  limits.finish()
  convertUrls(root, file, conversion)
  for (const route of root.takeTables('Routes')) {
    conversion.verdicts.map(route.statement, null)
    convertUrls(route, file, conversion)
    route.finish()
  }
  for (const key of ['log', 'loggers', 'metrics', 'profiling', 'api', 'observers', 'recorders'])
    root.ignore(key, 'logging')
  for (const key of ['resolvers', 'hosts']) root.refuse(key, 'resolver')
  for (const key of ['chains', 'hops', 'routers', 'sds', 'ingresses']) root.refuse(key, 'chain')
  for (const key of ['authers', 'tls', 'bypasses']) root.refuse(key, 'proxy_server')
  root.finish()
}

interface NamedTable {
  readonly table: TableReader
  readonly statements: readonly Statement[]
}

const byName = (root: TableReader, key: string): ReadonlyMap<string, NamedTable> =>
  new Map(
    root.takeTables(key).map(table => {
      const name = table.takeText('name')
      return [name?.value ?? '', { table, statements: [table.statement, ...(name ? [name.statement] : [])] }]
    })
  )

function addService(service: TableReader, limits: Limits, file: SourceFile, conversion: Conversion): void {
  const name = service.takeText('name')
  const addr = service.takeText('addr')
  const handler = service.takeTable('handler')
  const listener = service.takeTable('listener')
  const forwarder = service.takeTable('forwarder')
  const handlerType = handler?.takeText('type')
  const listenerType = listener?.takeText('type')
  const type = handlerType?.value ?? 'auto'
  const { host, ports } = splitHostPort(addr?.value ?? '')
  const range = ports === null ? null : parsePorts(ports)
  const protocol: Forward = type === 'udp' ? 'udp' : 'tcp'
  const draft = openDraft({
    client: file.client,
    statement: service.statement,
    listen: range ?? { from: 1, to: 1 },
    listenHost: host,
    protocol
  })
  const problem = whyRefused(type, listenerType?.value ?? (type === 'udp' ? 'udp' : 'tcp'))
  const chained = [service, handler, listener].some(
    part => part?.has('chain') === true || part?.has('chainGroup') === true
  )
  const note = (statement: Statement | undefined, field: string, reason: Reason | null = null): void => {
    if (statement) draft.notes.push({ statement, field, reason })
  }
  draft.name = name?.value ?? null
  note(name?.statement, 'name')
  note(addr?.statement, 'listen_port', isAnyAddress(host) ? null : 'listen_address')
  for (const part of [handler, listener]) note(part?.statement, 'protocol')
  for (const part of [handlerType, listenerType]) note(part?.statement, 'protocol')

  for (const part of [service, handler, listener]) {
    for (const key of ['chain', 'chainGroup']) part?.refuse(key, 'chain')
    for (const key of ['resolver', 'hosts', 'bypass', 'bypasses', 'ingress']) part?.refuse(key, 'resolver')
    for (const key of ['recorders', 'observer', 'logger', 'loggers', 'status']) part?.ignore(key, 'logging')
    part?.refuse('tls', 'tls_termination')
    for (const key of ['auth', 'auther', 'authers']) part?.ignore(key, 'secret')
    if (part) addNotes(draft, part.noteAll(['interface', 'sockopts', 'netns', 'netnsOut'], 'dial_from'))
  }
  const isLimited = limits.apply(service, draft)
  readMetadata(service.takeTable('metadata'), 'service', draft)
  readMetadata(handler?.takeTable('metadata') ?? null, 'handler', draft)
  readMetadata(listener?.takeTable('metadata') ?? null, 'listener', draft)
  if (forwarder) addForwarder(forwarder, draft)
  const other = problem ?? (chained ? 'chain' : null) ?? (isLimited ? null : 'source_rules')
  for (const part of [service, handler, listener, forwarder]) part?.finish(problem ?? undefined)
  if (other !== null) conversion.refuseRule(draft, other)
  else if (range === null) conversion.refuseRule(draft, 'port')
  else conversion.addRule(draft)
}

const remoteTypes = new Set(['rtcp', 'rudp', 'runix'])

/** Returns why a service is no plain forwarding, or null. */
function whyRefused(handler: string, listener: string): Reason | null {
  if (remoteTypes.has(handler) || remoteTypes.has(listener)) return 'remote_forwarding'
  if (!/^(tcp|udp|forward)$/.test(handler)) return 'proxy_server'
  if (handler !== 'udp' && listener === 'tcp') return null
  if (handler === 'udp' && listener === 'udp') return null
  return listener === 'tls' ? 'tls_termination' : 'transport'
}

function addForwarder(forwarder: TableReader, draft: RuleDraft): void {
  const selector = forwarder.takeTable('selector')
  const strategy = selector?.takeText('strategy') ?? forwarder.takeText('strategy')
  draft.notes.push({ statement: forwarder.statement, field: 'targets', reason: null })
  if (selector) {
    draft.notes.push({ statement: selector.statement, field: 'balance', reason: null })
    addNotes(draft, selector.noteAll(['maxFails', 'failTimeout'], 'failover'))
    selector.finish()
  }
  setStrategy(draft, strategy?.value ?? 'round', strategy?.statement ?? null)
  forwarder.refuse('hop', 'chain')
  for (const node of forwarder.takeTables('nodes')) addNode(node, draft)
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

function addNode(node: TableReader, draft: RuleDraft): void {
  const addr = node.takeText('addr')
  const name = node.takeText('name')
  const metadata = node.takeTable('metadata')
  const weightText = metadata?.takeText('weight')
  const weight = Number(weightText?.value ?? 1)
  const backup = metadata?.takeText('backup')
  const isBackup = backup?.value === 'true'
  const failover = metadata?.noteAll(['maxFails', 'failTimeout'], 'failover') ?? []
  const filters = ['filter', 'host', 'protocol', 'matcher', 'path'].filter(key => node.has(key))
  for (const key of filters) node.refuse(key, key === 'protocol' ? 'protocol' : 'http_routing')
  for (const key of ['http', 'auth']) node.refuse(key, 'http_routing')
  node.refuse('tls', 'tls_to_target')
  node.refuse('bypass', 'resolver')
  metadata?.finish()
  node.finish()
  for (const part of [name, weightText, backup])
    if (part) draft.notes.push({ statement: part.statement, field: 'targets', reason: null })
  if (metadata) draft.notes.push({ statement: metadata.statement, field: 'targets', reason: null })
  addNotes(draft, failover)
  if (filters.length > 0) return
  const statement = addr?.statement ?? node.statement
  draft.notes.push({ statement: node.statement, field: 'targets', reason: null })
  addTarget(draft, addr?.value ?? '', {
    statement,
    priority: isBackup ? 1 : draft.balance === null ? draft.targets.length : 0,
    weight: Number.isSafeInteger(weight) && weight > 0 ? weight : 1
  })
}

/** A range of target ports is counted from the first listen port. */
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
  const isRange = range !== null && range.to > range.from
  draft.targets.push({
    host: range === null ? '' : host === '' ? '127.0.0.1' : host,
    port: range === null ? 0 : isRange ? range.from - draft.listen.from : range.from,
    kind: isRange ? 'shifted' : 'fixed',
    priority,
    weight,
    statement,
    reason: isRange && sizeOf(range) !== sizeOf(draft.listen) ? 'port' : null
  })
}

const sizeOf = ({ from, to }: Ports): number => to - from + 1

function readMetadata(
  metadata: TableReader | null,
  part: 'service' | 'handler' | 'listener',
  draft: RuleDraft
): void {
  if (!metadata) return
  draft.notes.push({ statement: metadata.statement, field: '', reason: null })
  const proxy = metadata.takeText('proxyProtocol')
  if (proxy) {
    const isIn = part !== 'handler'
    if (isIn && proxy.value !== '0') draft.proxyIn = draft.protocol === 'tcp' ? anySource : null
    if (!isIn && /^[12]$/.test(proxy.value)) draft.proxyOut = proxy.value === '1' ? 1 : 2
    draft.notes.push({
      statement: proxy.statement,
      field: isIn ? 'proxy_in' : 'proxy_out',
      reason: draft.protocol === 'tcp' ? null : 'proxy_header'
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
  metadata.finish()
}

/** Admissions and limiters, which services name. */
class Limits {
  readonly #named: Named
  readonly #conversion: Conversion
  readonly #parts = new Map<NamedTable, Parts>()

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

  #read(found: NamedTable, key: 'matchers' | 'limits'): Parts {
    const known = this.#parts.get(found)
    if (known) return known
    const { table } = found
    const list = table.take(key)
    const whitelist = table.takeText('whitelist') ?? table.takeText('reverse')
    const values = list === null ? [] : [list.value].flat()
    const parts: Parts = {
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

interface Parts {
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

function convertLines(file: SourceFile, conversion: Conversion): void {
  for (const [at, line] of file.text.split('\n').entries()) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue
    const words = splitWords(line, file.name, at + 1)
    convertLine(words, file, at + 1, conversion)
  }
}

function convertLine(words: readonly string[], file: SourceFile, line: number, conversion: Conversion): void {
  const { verdicts } = conversion
  const listens: { readonly url: string; readonly statement: Statement }[] = []
  const chains: Statement[] = []
  let option: string | null = null
  for (const word of words) {
    const [, joined, value = ''] = /^-{1,2}([A-Z])=?(.*)$/s.exec(word) ?? []
    if (option === null && joined !== undefined && value === '' && /^[LFCOMS]$/.test(joined)) {
      option = joined
      continue
    }
    const name: string | undefined = option ?? joined
    const text = option === null ? value : word
    option = null
    if (name === undefined) {
      const isProgram = /(^|\/)gost$|^sudo$|^exec$/.test(word)
      const statement = conversion.statement(
        file.name,
        line,
        maskUrl(word),
        maskUrl(word) === word ? 'none' : 'left_out'
      )
      if (isProgram) verdicts.ignore(statement, 'structure')
      continue
    }
    const shown = maskUrl(text)
    const statement = conversion.statement(
      file.name,
      line,
      `-${name} ${shown}`,
      shown === text ? 'none' : 'left_out'
    )
    if (name === 'L') listens.push({ url: text, statement })
    else if (name === 'F') chains.push(statement)
    else if (name !== 'C') verdicts.ignore(statement, 'logging')
    else verdicts.refuse(statement, 'include')
  }
  for (const statement of chains) verdicts.refuse(statement, 'chain')
  for (const { url, statement } of listens) addListen(url, statement, chains.length > 0, file, conversion)
}

/** Converts the lists of URLs of version 2: `ServeNodes`, and the chain in `ChainNodes`. */
function convertUrls(table: TableReader, file: SourceFile, conversion: Conversion): void {
  const serve = table.take('ServeNodes')
  const isChained = table.has('ChainNodes')
  table.refuse('ChainNodes', 'chain')
  for (const key of ['Retries', 'Debug', 'Mark', 'Interface']) table.ignore(key, 'tuning')
  const urls = Array.isArray(serve?.value) ? serve.value : []
  if (serve) for (const url of urls) addListen(String(url), serve.statement, isChained, file, conversion)
}

/** Hides user and password, and values of secret parameters. */
const maskUrl = (text: string): string =>
  text
    .replaceAll(text.includes('://') ? /(:\/\/)[^\s"'@]{1,512}@/g : /(^)[^\s"'@]{1,512}@/g, '$1***@')
    .replaceAll(/([?&][\w.]{0,40}(?:pass|secret|token|auth|key)[\w.]{0,40}=)[^&\s]*/gi, '$1***')

function addListen(
  url: string,
  statement: Statement,
  isChained: boolean,
  file: SourceFile,
  conversion: Conversion
): void {
  const [, scheme = 'auto', , address = '', path = '', query = ''] =
    /^(?:([\w+.-]+):\/\/)?([^/?@]*@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(url) ?? []
  const [handler = '', carrier = handler === 'udp' ? 'udp' : 'tcp'] = scheme.toLowerCase().split('+')
  const type = path === '' && !remoteTypes.has(handler) && handler !== 'udp' ? 'auto' : handler
  const problem = whyRefused(type, carrier)
  const { host, ports } = splitHostPort(address)
  const range = ports === null ? null : parsePorts(ports)
  const draft = openDraft({
    client: file.client,
    statement,
    listen: range ?? { from: 1, to: 1 },
    listenHost: host,
    protocol: handler === 'udp' ? 'udp' : 'tcp'
  })
  const parameters = new URLSearchParams(query)
  const reasons: Reason[] = isAnyAddress(host) ? [] : ['listen_address']
  setStrategy(draft, parameters.get('strategy') ?? 'round', null)
  if (/^rand/.test(parameters.get('strategy') ?? '')) reasons.push('balance')
  const unknown: Reason[] = []
  for (const [name, value] of parameters) unknown.push(...readParameter(name, value, draft, reasons))
  for (const [at, text] of path
    .split(',')
    .filter(text => text !== '')
    .entries())
    addTarget(draft, text, { statement, priority: draft.balance === null ? at : 0, weight: 1 })
  const [reason = null] = reasons
  draft.notes.push({ statement, field: '', reason })
  const other = problem ?? (isChained ? 'chain' : null) ?? unknown[0] ?? null
  if (other !== null) conversion.refuseRule(draft, other)
  else if (range === null) conversion.refuseRule(draft, 'port')
  else conversion.addRule(draft)
}

/** Sets the field of a parameter, or adds the difference to `reasons`. Returns why the rule must be refused. */
function readParameter(
  name: string,
  value: string,
  draft: RuleDraft,
  reasons: Note['reason'][] & Reason[]
): Reason[] {
  if (name === 'strategy') return []
  if (/^(max_?fails|fail_?timeout)$/i.test(name)) reasons.push('failover')
  else if (/^(ttl|keepalive|(read|idle)timeout)$/i.test(name)) reasons.push('timeout')
  else if (/^(interface|so_mark|netns)$/i.test(name)) reasons.push('dial_from')
  else if (/^(\w*buffersize|backlog|mptcp)$/i.test(name)) return []
  else if (name === 'proxyProtocol' && draft.protocol === 'tcp') draft.proxyIn = anySource
  else if (name === 'climiter' && /^[1-9]\d{0,8}$/.test(value))
    draft.rateLimit['concurrent_connections'] = Number(value)
  else if (name === 'rlimiter' && /^[1-9]\d{0,8}$/.test(value))
    draft.rateLimit['new_connections_per_sec'] = Number(value)
  else if (name === 'limiter.in' && parseSize(value) !== null)
    draft.rateLimit['bandwidth_in_bps'] = parseSize(value) ?? 1
  else if (name === 'limiter.out' && parseSize(value) !== null)
    draft.rateLimit['bandwidth_out_bps'] = parseSize(value) ?? 1
  else if (/^admission/.test(name)) return ['source_rules']
  else return ['unknown_statement']
  return []
}
