// HAProxy: frontends, listens and backends in mode tcp.
import {
  isAnyAddress,
  type Ports,
  parsePorts,
  parsePrefix,
  parseSeconds,
  parseSniPattern,
  splitHostPort
} from '../address.ts'
import { addressSteps, type Conversion } from '../conversion.ts'
import { type Line, readHaproxy, type Section } from '../haproxy-syntax.ts'
import type { Reason } from '../reasons.ts'
import type { Statement } from '../report.ts'
import { addNotes, anySource, type Note, openDraft, type RuleDraft } from '../rule-draft.ts'
import type { SourceFile } from '../source-file.ts'

const logging =
  /^(log|log-format|log-format-sd|log-tag|log-steps|error-log-format|monitor|unique-id-format|unique-id-header|email-alert|capture|declare)$/
const loggingOptions =
  /^(tcplog|httplog|dontlognull|dontlog-normal|log-health-checks|log-separate-errors|logasap|socket-stats|contstats|httpslog)$/
const tuning =
  /^(maxconn|fullconn|backlog|retries|retry-on|id|guid|hash-balance-factor|hash-preserve-affinity|max-keep-alive-queue|redispatch|load-server-state-from-file|server-state-file-name|grace|bind-process|tune|nbproc|nbthread|persist)$/
const tuningOptions =
  /^(tcpka|clitcpka|srvtcpka|nolinger|redispatch|tcp-smart-accept|tcp-smart-connect|splice-auto|splice-request|splice-response|abortonclose|allbackups|checkcache|independent-streams|idle-close-on-response|spop-check|prefer-last-server)$/
const httpOnly =
  /^(http-.*|cookie|compression|errorfile|errorfiles|errorloc\w*|redirect|stats|filter|force-persist|ignore-persist|rate-limit-http|use-fcgi-app|fcgi-.*|dynamic-cookie-key|appsession|http_auth)$/
const checkOptions = /^(httpchk|ssl-hello-chk|mysql-check|pgsql-check|smtpchk|redis-check|ldap-check)$/

export function convertHaproxy(files: readonly SourceFile[], conversion: Conversion): void {
  const sections = files.flatMap(file => readHaproxy(file, conversion))
  const proxies = openProxies(sections, conversion)
  const backends = new Map(
    proxies
      .filter(({ section }) => /^(backend|listen)$/.test(section.keyword))
      .map(proxy => [proxy.section.name, proxy])
  )
  judgeOthers(sections, conversion)
  for (const proxy of proxies) if (proxy.section.keyword === 'backend') judgeUnused(proxy, conversion)
  for (const proxy of proxies)
    if (/^(frontend|listen)$/.test(proxy.section.keyword)) addProxy(proxy, backends, conversion)
}

/** A proxy section, with the lines of its defaults before its own. */
interface Proxy {
  readonly section: Section
  readonly inherited: readonly Line[]
  readonly mode: string
}

function openProxies(sections: readonly Section[], conversion: Conversion): Proxy[] {
  const named = new Map<string, readonly Line[]>()
  let current: readonly Line[] = []
  const proxies: Proxy[] = []
  for (const section of sections) {
    const from = section.words[section.words.indexOf('from') + 1]
    const base = section.words.includes('from') ? (named.get(from ?? '') ?? []) : null
    const inherited = base ?? (section.keyword === 'defaults' ? [] : current)
    conversion.spend(inherited.length, section.statement)
    if (section.keyword === 'defaults') {
      current = [...inherited, ...section.lines]
      if (section.name !== '') named.set(section.name, current)
    } else if (/^(frontend|backend|listen)$/.test(section.keyword)) {
      const mode =
        [...inherited, ...section.lines].findLast(({ words }) => words[0] === 'mode')?.words[1] ?? 'tcp'
      proxies.push({ section, inherited, mode })
    }
  }
  return proxies
}

/** Judges sections that are no proxies, and the lines of defaults. */
function judgeOthers(sections: readonly Section[], conversion: Conversion): void {
  const { verdicts } = conversion
  for (const { keyword, statement, lines } of sections) {
    if (/^(frontend|backend|listen)$/.test(keyword)) continue
    const reason: Reason =
      keyword === 'program'
        ? 'plugin'
        : keyword === 'resolvers'
          ? 'resolver'
          : keyword === 'defaults'
            ? 'structure'
            : 'process'
    verdicts.ignore(statement, reason)
    for (const line of lines) {
      if (keyword !== 'defaults')
        verdicts.ignore(line.statement, /^log/.test(line.words[0] ?? '') ? 'logging' : reason)
      else if (line.words[0] === 'mode') judgeMode(line, conversion)
      else {
        verdicts.leaveUnused(line.statement)
        judgeRest(line, conversion)
      }
    }
  }
}

function judgeMode({ words, statement }: Line, { verdicts }: Conversion): void {
  if (words[1] === 'tcp') verdicts.map(statement, null)
  else verdicts.ignore(statement, 'http_routing')
}

function judgeUnused({ section, mode }: Proxy, { verdicts }: Conversion): void {
  for (const { statement } of [section, ...section.lines])
    if (mode === 'tcp') verdicts.leaveUnused(statement)
    else verdicts.refuse(statement, 'http_routing')
}

/** Judges lines that change no field of a rule. */
function judgeRest({ words, statement }: Line, { verdicts }: Conversion): void {
  const [keyword = '', second = ''] = words[0] === 'no' ? words.slice(1) : words
  if (logging.test(keyword) || (keyword === 'option' && loggingOptions.test(second)))
    verdicts.ignore(statement, 'logging')
  else if (keyword === 'timeout' && second.startsWith('http-')) verdicts.ignore(statement, 'http_routing')
  else if (keyword === 'timeout' || /^(cli|con|srv)timeout$/.test(keyword))
    verdicts.approximate(statement, 'timeout', null)
  else if (tuning.test(keyword) || (keyword === 'option' && tuningOptions.test(second)))
    verdicts.ignore(statement, 'tuning')
  else if (keyword === 'stick-table') verdicts.leaveUnused(statement)
  else if (keyword === 'option' && second === 'tcp-check') verdicts.map(statement, null)
  else if (keyword === 'option' && checkOptions.test(second))
    verdicts.approximate(statement, 'health_check', null)
  else if (/^(tcp-check|external-check)$/.test(keyword)) verdicts.approximate(statement, 'health_check', null)
  else if (
    httpOnly.test(keyword) ||
    (keyword === 'option' && /^(http|forwardfor|originalto|disable-h2|accept-)/.test(second))
  )
    verdicts.ignore(statement, 'http_routing')
}

interface Listen {
  readonly statement: Statement
  readonly host: string
  readonly ports: Ports | null
  readonly isProxied: boolean
  readonly reason: Reason | null
  readonly problem: Reason | null
}

interface Route {
  readonly pattern: string | null
  readonly isFallback: boolean
  readonly backend: string
  readonly notes: readonly Note[]
}

function addProxy(proxy: Proxy, backends: ReadonlyMap<string, Proxy>, conversion: Conversion): void {
  const { section, inherited, mode } = proxy
  const { verdicts } = conversion
  if (mode !== 'tcp') {
    for (const { statement } of [section, ...section.lines]) verdicts.refuse(statement, 'http_routing')
    return
  }
  const lines = [...inherited.filter(({ words }) => words[0] !== 'mode'), ...section.lines]
  for (const line of section.lines) if (line.words[0] === 'mode') judgeMode(line, conversion)
  const filter = readFilter(lines, conversion)
  const settings = lines.filter(isFrontendSetting)
  const routes = readRoutes(proxy, filter.acls, conversion)
  const listens = [
    ...section.lines.filter(({ words }) => words[0] === 'bind').flatMap(readBind),
    ...listensOf(section)
  ]
  if (listens.length === 0) verdicts.refuse(section.statement, 'port')
  for (const listen of listens)
    for (const route of routes) {
      const draft = openDraft({
        client: section.client,
        statement: section.statement,
        listen: listen.ports ?? { from: 1, to: 1 },
        listenHost: listen.host,
        protocol: 'tcp'
      })
      draft.name = section.name
      draft.blamed = route.notes[0]?.statement ?? section.statement
      if (listen.problem !== null || listen.ports === null) draft.blamed = listen.statement
      draft.notes.push({ statement: listen.statement, field: 'listen_port', reason: listen.reason })
      addNotes(draft, route.notes)
      addNotes(draft, filter.notes)
      draft.sniPattern = route.pattern
      draft.isSniFallback = route.isFallback
      draft.allowSources = filter.allow
      draft.denySources = filter.deny
      draft.sourceConnections = filter.connections
      draft.sourceRate = filter.rate
      if (listen.isProxied) draft.proxyIn = anySource
      else if (filter.proxies !== null) draft.proxyIn = filter.proxies
      const peerProblem = draft.proxyIn !== null && filter.isOfPeers ? 'source_rules' : null
      conversion.spend(settings.length, section.statement)
      applyFrontend(settings, draft)
      const backendProblem = applyBackend(route.backend, proxy, { draft, backends, conversion })
      const problem = listen.problem ?? filter.problem ?? peerProblem ?? backendProblem
      if (problem !== null) conversion.refuseRule(draft, problem)
      else if (listen.ports === null) conversion.refuseRule(draft, 'port')
      else conversion.addRule(draft)
    }
  if (listens.length > 0 && routes.length === 0) {
    verdicts.refuse(section.statement, 'no_target')
    for (const { statement } of listens) verdicts.refuseWithRule(statement, 'no_target')
  }
  for (const line of section.lines)
    if (!/^(acl|server|tcp-request)$/.test(line.words[0] ?? '')) judgeRest(line, conversion)
}

/** Returns the address of `listen web :80`, an old form. */
function listensOf({ words, statement, keyword }: Section): Listen[] {
  const [, , address] = words
  if (keyword === 'backend' || address === undefined || address === 'from') return []
  return readBind({ words: ['bind', address], statement })
}

const bindValues =
  /^(name|maxconn|backlog|id|nice|process|thread|user|uid|group|gid|mode|level|severity-output|mss|tcp-ut|proto|shards|interface|namespace|crt|crt-list|ca-file|alpn|ciphers|ciphersuites|curves|ssl-min-ver|ssl-max-ver|verify|crl-file|idle-ping|label)$/

/** Reads the addresses of a bind line: `:80,:443`, `10.0.0.1:8000-8010`, `ipv6@:::443 v6only`. */
function readBind({ words, statement }: Line): Listen[] {
  const [, addresses = '', ...options] = words
  const flags = new Set<string>()
  let isOnInterface = false
  let isOnLoopback = false
  for (let at = 0; at < options.length; at += 1) {
    const option = options[at] ?? ''
    flags.add(option)
    if (option === 'interface' || option === 'namespace') isOnInterface = true
    if (option === 'interface' && options[at + 1] === 'lo') isOnLoopback = true
    if (bindValues.test(option)) at += 1
  }
  return addresses.split(',').map(text => {
    const isQuic = /^quic[46]?@/.test(text)
    const plain = text.replace(/^(ipv[46]|quic[46]?|tcp[46]?)@/, '')
    const isSocket = /^(\/|unix@|abns@|fd@|sockpair@|abnsz@)/.test(plain)
    const { host, ports } = splitHostPort(plain)
    const isOther = /^(udp[46]?@|rhttp@)/.test(plain) || isQuic
    return {
      statement,
      host: isOnLoopback ? '127.0.0.1' : host,
      ports: ports === null ? null : parsePorts(ports),
      isProxied: flags.has('accept-proxy'),
      reason: isOnInterface || !isAnyAddress(host) ? 'listen_address' : null,
      problem: flags.has('ssl')
        ? 'tls_termination'
        : isSocket
          ? 'unix_socket'
          : isOther
            ? 'protocol'
            : plain.includes('$')
              ? 'variable'
              : null
    }
  })
}

// Access

interface Filter {
  readonly allow: readonly string[] | null
  readonly deny: readonly string[] | null
  readonly proxies: readonly string[] | null
  readonly acls: FindAcl
  readonly notes: readonly Note[]
  readonly problem: Reason | null // a filter cannot be expressed: the rule must not open
  readonly connections: number | null
  readonly rate: RuleDraft['sourceRate']
  readonly isOfPeers: boolean // it judges the peer, before a PROXY header: behind a proxy, no rule can express it
}

/** The connections that a caller may have open, or may begin within the period of a stick table. */
interface SourceLimit {
  readonly counter: 'conn_cur' | 'conn_rate'
  readonly most: number
}

/** A test of an ACL: TLS names, source prefixes, or one that always holds when TLS is read. */
type Acl =
  | {
      readonly kind: 'names'
      readonly patterns: readonly string[]
      readonly reason: Reason | null
      readonly statement: Statement | null
    }
  | { readonly kind: 'sources'; readonly prefixes: readonly string[]; readonly statement: Statement | null }
  | { readonly kind: 'always'; readonly statement: Statement | null }
  | { readonly kind: 'limit'; readonly limit: SourceLimit; readonly statement: Statement | null }
  | { readonly kind: 'unknown'; readonly reason: Reason; readonly statement: Statement | null }

/** Returns the tests of a name for a condition of a statement. Counts them as work: many conditions can use one name. */
type FindAcl = (name: string, of: Statement) => readonly Acl[]

interface Term {
  readonly isNegated: boolean
  readonly acls: readonly Acl[] // one of them must hold
}

function openAcls(lines: readonly Line[], conversion: Conversion): FindAcl {
  const { verdicts } = conversion
  const acls = new Map<string, Acl[]>()
  for (const { words, statement } of lines) {
    const [keyword, name = '', ...test] = words
    if (keyword !== 'acl') continue
    conversion.spend(addressSteps * test.length, statement) // defaults are read for each proxy
    const acl = readAcl(test, statement)
    const tests = acls.get(name) ?? []
    tests.push(acl)
    acls.set(name, tests)
    if (acl.kind === 'unknown') verdicts.refuse(statement, acl.reason)
    else verdicts.leaveUnused(statement)
  }
  return (name, of) => {
    const found = acls.get(name) ?? [builtinAcl(name)]
    conversion.spend(found.length, of)
    for (const acl of found) conversion.spend(sizeOfAcl(acl), of)
    return found
  }
}

const sizeOfAcl = (acl: Acl): number =>
  acl.kind === 'names' ? acl.patterns.length : acl.kind === 'sources' ? acl.prefixes.length : 0

/** Reads `acl` and `tcp-request` lines. The first match decides in HAProxy, and `deny_sources` wins in a rule. */
function readFilter(lines: readonly Line[], conversion: Conversion): Filter {
  const acls = openAcls(lines, conversion)
  const table = lines.find(({ words }) => words[0] === 'stick-table' && periodOf(words) !== null)
  const requests = new Requests(table ? periodOf(table.words) : null)
  for (const { words, statement } of lines) {
    if (words[0] !== 'tcp-request') continue
    if (harmless.test(words[2] ?? '')) {
      conversion.verdicts.ignore(statement, 'logging')
      continue
    }
    conversion.spend(addressSteps * words.length, statement)
    const request = readRequest({ words, statement }, acls)
    const use = requests.add(request)
    if (use === null) conversion.verdicts.refuse(statement, 'source_rules')
    else requests.note([statement, ...request.statements], use)
  }
  const result = requests.result()
  if (table && result.rate)
    result.notes.push({ statement: table.statement, field: 'source_limit', reason: 'source_limit' })
  return { ...result, acls }
}

/** Returns the period of a stick table that counts new connections, in seconds; null if there is none, or not a whole number. */
function periodOf(words: readonly string[]): number | null {
  const [, text = ''] = /\bconn_rate\(([^)]*)\)/.exec(words.join(' ').slice(0, 1000)) ?? []
  const secs = parseSeconds(text, 'ms')
  return secs !== null && Number.isInteger(secs) && secs >= 1 && secs <= 3600 ? secs : null
}

/** Actions of `tcp-request` that let every connection pass: they mark, count or log it. */
const harmless =
  /^(capture|track-sc\d+|sc-(inc|add|set|clr)-\w+|(un)?set-var(-fmt)?|set-log-level|set-nice|set-(fc-|bc-)?(tos|mark))(\(|$)/

/** The field that a `tcp-request` line becomes. */
interface Use {
  readonly field: string
  readonly reason: Reason | null
}

/** Adds up the effects of `tcp-request` lines. */
class Requests {
  readonly #notes: Note[] = []
  readonly #deny: string[] = []
  readonly #accepted: string[] = []
  #allow: readonly string[] | null = null
  #proxies: readonly string[] | null = null
  #problem: Reason | null = null
  #hasTls = false
  #isOfPeers = false
  #connections: number | null = null
  #rate: RuleDraft['sourceRate'] = null
  readonly #periodSecs: number | null
  readonly #acceptedAt = new Set<string>() // layers of the lines that accept: each ends only the rules of its layer

  /** `periodSecs` is that of the stick table of the proxy. */
  constructor(periodSecs: number | null) {
    this.#periodSecs = periodSecs
  }

  /** Returns null if the line is a filter that a rule cannot express. */
  add(request: Request): Use | null {
    const use = this.#use(request)
    if (use === null) this.#problem = 'source_rules'
    return use
  }

  note([first, ...others]: readonly Statement[], { field, reason }: Use): void {
    if (first) this.#notes.push({ statement: first, field, reason })
    for (const statement of others) this.#notes.push({ statement, field, reason: null })
  }

  result(): Omit<Filter, 'acls' | 'notes'> & { readonly notes: Note[] } {
    return {
      connections: this.#connections,
      rate: this.#rate,
      allow: this.#allow,
      deny: this.#deny.length > 0 ? this.#deny : null,
      proxies: this.#proxies,
      notes: this.#notes,
      problem: this.#problem,
      isOfPeers: this.#isOfPeers
    }
  }

  #use({ effect, layer, sources, limit, isAlways, isNegated, reason }: Request): Use | null {
    if (effect === 'none') return { field: '', reason }
    if (effect === 'accept' || effect === 'tls') this.#acceptedAt.add(layer)
    if (effect === 'tls') {
      this.#hasTls = true
      return { field: '', reason: null }
    }
    if (isNegated && effect !== 'reject') return null
    if (effect === 'proxy') {
      this.#proxies = sources ?? anySource
      return { field: 'proxy_in', reason: sources === null ? null : 'proxy_header' }
    }
    if (layer === 'connection') this.#isOfPeers = true
    if (limit !== null && effect === 'reject' && !isNegated) return this.#limit(limit)
    if (sources === null) return isAlways && effect === 'reject' ? this.#rejectRest(layer) : null
    return effect === 'accept' ? this.#accept(sources) : this.#reject(sources, isNegated ? 'others' : 'these')
  }

  /** A rule also limits the callers that an earlier line accepts. */
  #limit({ counter, most }: SourceLimit): Use | null {
    if (counter === 'conn_cur') this.#connections = Math.min(this.#connections ?? most, most)
    else if (this.#periodSecs === null || this.#rate !== null) return null
    else this.#rate = { count: most, secs: this.#periodSecs }
    return { field: 'source_limit', reason: 'source_limit' }
  }

  /** An unconditional reject, after lines that accept. A rule has one list, which cannot be joined with another condition. */
  #rejectRest(layer: string): Use | null {
    if ([...this.#acceptedAt].some(other => other !== layer)) return null
    if (this.#accepted.length > 0) {
      if (this.#allow !== null || this.#hasTls) return null
      this.#allow = this.#accepted
      return { field: 'allow_sources', reason: null }
    }
    return this.#hasTls ? { field: '', reason: 'acl' } : null // a rule resets callers without TLS, unless it is the fallback
  }

  #accept(sources: readonly string[]): Use {
    for (const source of sources) this.#accepted.push(source)
    return { field: 'allow_sources', reason: null }
  }

  #reject(sources: readonly string[], who: 'these' | 'others'): Use | null {
    if (this.#accepted.length > 0) return null
    if (who === 'these') {
      for (const source of sources) this.#deny.push(source)
      return { field: 'deny_sources', reason: null }
    }
    if (this.#allow !== null) return null
    this.#allow = sources
    return { field: 'allow_sources', reason: null }
  }
}

interface Request {
  readonly effect: 'accept' | 'reject' | 'proxy' | 'tls' | 'none' // tls: lets in callers that send a ClientHello
  readonly layer: string // connection, session or content
  readonly sources: readonly string[] | null // of its condition, if it is one test of sources
  readonly limit: SourceLimit | null // of its condition, if it is one test of a counter
  readonly isNegated: boolean
  readonly isAlways: boolean
  readonly reason: Reason | null
  readonly statements: readonly Statement[] // of the ACLs that it names
}

function readRequest(line: Line, acls: FindAcl): Request {
  const [, layer = '', action = ''] = line.words
  const none: Request = {
    effect: 'none',
    layer,
    sources: null,
    limit: null,
    isNegated: false,
    isAlways: false,
    reason: null,
    statements: []
  }
  if (layer === 'inspect-delay') return { ...none, reason: 'timeout' }
  const condition = readCondition(line, acls)
  const [clause, more] = condition ?? []
  const [term, other] = clause ?? []
  const statements = (condition ?? [])
    .flat()
    .flatMap(one => one.acls.flatMap(({ statement }) => statement ?? []))
  const isTls =
    condition !== null &&
    condition.length > 0 &&
    condition.every(terms => terms.every(one => one.acls.every(({ kind }) => kind === 'always')))
  const isNegatedTls = isTls && more === undefined && other === undefined && term?.isNegated === true
  if (/^(reject|silent-drop)$/.test(action) && isNegatedTls) return { ...none, reason: 'acl', statements }
  if (action === 'accept' && isTls && !isNegatedTls) return { ...none, effect: 'tls', statements }
  const prefixes = term?.acls.flatMap(acl => (acl.kind === 'sources' ? acl.prefixes : [])) ?? []
  const isSources =
    more === undefined &&
    other === undefined &&
    term !== undefined &&
    term.acls.length > 0 &&
    term.acls.every(({ kind }) => kind === 'sources')
  const effect =
    action === 'accept'
      ? 'accept'
      : action === 'reject' || action === 'silent-drop'
        ? 'reject'
        : action === 'expect-proxy'
          ? 'proxy'
          : null
  const isAlways = condition !== null && condition.length === 0
  if (effect === null) return { ...none, effect: 'reject', reason: 'acl', statements } // its meaning is not known: refuse the rule
  return {
    effect,
    layer,
    sources: isSources ? prefixes : null,
    limit: more === undefined && other === undefined ? limitOf(term) : null,
    isNegated: term?.isNegated ?? false,
    isAlways,
    reason: null,
    statements
  }
}

function limitOf(term: Term | undefined): SourceLimit | null {
  const [acl, more] = term?.acls ?? []
  return acl?.kind === 'limit' && more === undefined ? acl.limit : null
}

const matchOption = /^-(i|n|u|f|M|m)$/

function readAcl(words: readonly string[], statement: Statement | null): Acl {
  const [fetch = '', ...rest] = words
  const values: string[] = []
  let method = 'str'
  let hasFile = false
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? ''
    if (word === '--') {
      for (const value of rest.slice(at + 1)) values.push(value)
      break
    }
    if (!matchOption.test(word)) values.push(word)
    else if (word === '-m') {
      at += 1
      method = rest[at] ?? ''
    } else if (word === '-f' || word === '-M') hasFile = true
  }
  const unknown = (reason: Reason): Acl => ({ kind: 'unknown', reason, statement })
  if (hasFile) return unknown('include')
  const [name = '', converters = ''] = fetch.split(/,(.*)/s)
  if (/^ssl_fc/.test(name)) return unknown('tls_termination')
  if (/^(src|fc_src)$/.test(name)) {
    const prefixes = values.map(parsePrefix)
    return prefixes.length === 0 || prefixes.includes(null) || converters !== ''
      ? unknown('source_rules')
      : { kind: 'sources', prefixes: prefixes.filter(prefix => prefix !== null), statement }
  }
  const [, counter] = /^(?:src|sc\d?)_(conn_cur|conn_rate)(?:\(\d?\))?$/.exec(fetch) ?? []
  const [operator = '', digits = ''] = values
  const most = Number(digits) - (operator === 'ge' ? 1 : 0)
  if (counter !== undefined && /^g[et]$/.test(operator) && values.length === 2 && isCount(String(most)))
    return {
      kind: 'limit',
      limit: { counter: counter === 'conn_cur' ? 'conn_cur' : 'conn_rate', most: Math.min(most, 1_000_000) },
      statement
    }
  if (/^req[._]ssl_hello_type$/.test(name) && values.join() === '1') return { kind: 'always', statement }
  if (/^req[._](len|ssl_ver)$/.test(name)) return { kind: 'always', statement }
  if (name === 'req.proto_http' || name === 'HTTP') return unknown('http_routing')
  const [, suffix = ''] = /^req[._]ssl_sni(?:_(\w+))?$/.exec(name) ?? []
  if (!/^req[._]ssl_sni/.test(name) || !/^(lower)?$/.test(converters)) return unknown('acl')
  return readNames(suffix === '' ? method : suffix, values, statement)
}

function readNames(method: string, values: readonly string[], statement: Statement | null): Acl {
  const unknown: Acl = { kind: 'unknown', reason: 'acl', statement }
  if (method === 'found' || (values.length === 0 && method === 'str')) return unknown
  if (method !== 'str' && method !== 'end' && method !== 'dom') return unknown
  const patterns = values.flatMap(value => {
    if (method === 'str') return [parseSniPattern(value.startsWith('*') ? '' : value)]
    const domain = value.replace(/^\./, '')
    const below = parseSniPattern(`*.${domain}`)
    return value.startsWith('.') && method === 'end' ? [below] : [parseSniPattern(domain), below]
  })
  if (patterns.length === 0 || patterns.includes(null)) return unknown
  return {
    kind: 'names',
    patterns: patterns.filter(pattern => pattern !== null),
    reason: method === 'str' ? null : 'sni_depth',
    statement
  }
}

/** Returns the alternatives of `if` or `unless`: none if there is no condition, null if it cannot be read. */
function readCondition({ words, statement }: Line, acls: FindAcl): readonly (readonly Term[])[] | null {
  const at = words.findIndex(word => word === 'if' || word === 'unless')
  if (at < 0) return []
  const clauses: Term[][] = [[]]
  let isNegated = false
  for (let index = at + 1; index < words.length; index += 1) {
    const word = words[index] ?? ''
    const current = clauses.at(-1)
    if (word === 'or' || word === '||') clauses.push([])
    else if (word === '!') isNegated = !isNegated
    else if (word === '{' || word === '!{') {
      if (word === '!{') isNegated = !isNegated
      const end = words.indexOf('}', index)
      if (end < 0) return null
      current?.push({ isNegated, acls: [readAcl(words.slice(index + 1, end), null)] })
      isNegated = false
      index = end
    } else {
      const name = word.replace(/^!/, '')
      const isNot = isNegated !== word.startsWith('!')
      current?.push({ isNegated: isNot, acls: acls(name, statement) })
      isNegated = false
    }
  }
  if (words[at] === 'if') return clauses
  const [only, more] = clauses // unless A: if !A
  return only?.length === 1 && more === undefined
    ? [only.map(term => ({ ...term, isNegated: !term.isNegated }))]
    : null
}

const builtinAcl = (name: string): Acl =>
  /^(TRUE|WAIT_END|REQ_CONTENT)$/.test(name)
    ? { kind: 'always', statement: null }
    : { kind: 'unknown', reason: name === 'HTTP' ? 'http_routing' : 'acl', statement: null }

// Routes

/** Returns the backends of a proxy, by TLS name. A listen with servers is its own backend. */
function readRoutes({ section, inherited }: Proxy, acls: FindAcl, { verdicts }: Conversion): Route[] {
  const routes: Route[] = []
  for (const { words, statement } of section.lines) {
    if (words[0] !== 'use_backend') continue
    const [, backend = ''] = words
    const condition = readCondition({ words, statement }, acls)
    const names = condition === null || backend.includes('%') ? null : namesOf(condition)
    if (names === null) verdicts.refuse(statement, backend.includes('%') ? 'variable' : 'acl')
    else if (names === 'always')
      routes.push({
        pattern: null,
        isFallback: true,
        backend,
        notes: [{ statement, field: 'targets', reason: null }]
      })
    else
      for (const { pattern, reason, of } of names) {
        const notes: Note[] = [{ statement, field: 'sni_pattern', reason }]
        if (of) notes.push({ statement: of, field: 'sni_pattern', reason })
        routes.push({ pattern, isFallback: false, backend, notes })
      }
  }
  for (const { words, statement } of section.lines)
    if (words[0] === 'use-server') verdicts.refuse(statement, 'acl')
  const last = [...inherited, ...section.lines].findLast(({ words }) => words[0] === 'default_backend')
  const isOwn =
    section.keyword === 'listen' &&
    section.lines.some(({ words }) => /^(server|server-template|dispatch)$/.test(words[0] ?? ''))
  const backend = last?.words[1] ?? (isOwn ? section.name : null)
  if (backend === null) return routes
  const notes: Note[] = last ? [{ statement: last.statement, field: 'targets', reason: null }] : []
  const hasFallback = routes.some(({ isFallback }) => isFallback)
  const all = hasFallback ? routes : [...routes, { pattern: null, isFallback: true, backend, notes }]
  return all.length === 1 ? all.map(route => ({ ...route, isFallback: false })) : all
}

interface Name {
  readonly pattern: string
  readonly reason: Reason | null
  readonly of: Statement | null
}

/** Returns the TLS names of a condition; null if it has other tests. */
function namesOf(clauses: readonly (readonly Term[])[]): readonly Name[] | 'always' | null {
  if (clauses.length === 0) return 'always'
  const names: Name[] = []
  for (const terms of clauses) {
    const tests = terms.filter(
      ({ acls, isNegated }) => isNegated || !acls.every(({ kind }) => kind === 'always')
    )
    const [test, more] = tests
    if (test === undefined && terms.length > 0) return 'always'
    if (test === undefined || more !== undefined || test.isNegated) return null
    for (const acl of test.acls) {
      if (acl.kind !== 'names') return null
      for (const pattern of acl.patterns) names.push({ pattern, reason: acl.reason, of: acl.statement })
    }
  }
  return names
}

// Settings of frontends and backends

const isFrontendSetting = ({ words: [keyword = ''] }: Line): boolean =>
  /^(maxconn|rate-limit|disabled|enabled|description)$/.test(keyword)

function applyFrontend(lines: readonly Line[], draft: RuleDraft): void {
  for (const { words, statement } of lines) {
    const [keyword, value = '', third = ''] = words
    const note = (field: string, reason: Reason | null): void => {
      draft.notes.push({ statement, field, reason })
    }
    if (keyword === 'maxconn' && isCount(value)) {
      draft.rateLimit['concurrent_connections'] = Number(value)
      note('rate_limit', 'connection_limit') // HAProxy lets callers wait
    } else if (keyword === 'rate-limit' && value === 'sessions' && isCount(third)) {
      draft.rateLimit['new_connections_per_sec'] = Number(third)
      note('rate_limit', 'connection_limit')
    } else if (keyword === 'disabled') {
      draft.isPaused = true
      note('paused', null)
    } else if (keyword === 'enabled') draft.isPaused = false
    else if (keyword === 'description' && value !== '') {
      const text = words.slice(1).join(' ')
      const fits = Buffer.byteLength(text) <= 255 && !/\p{C}/u.test(text)
      if (fits) draft.description = text
      note('description', null)
    }
  }
}

const isCount = (text: string): boolean => /^[1-9]\d{0,8}$/.test(text)

interface BackendContext {
  readonly draft: RuleDraft
  readonly backends: ReadonlyMap<string, Proxy>
  readonly conversion: Conversion
}

/** Adds the servers and settings of a backend. Returns why the rule must be refused, or null. */
function applyBackend(
  name: string,
  proxy: Proxy,
  { draft, backends, conversion }: BackendContext
): Reason | null {
  const backend =
    name === proxy.section.name && proxy.section.keyword === 'listen' ? proxy : backends.get(name)
  if (!backend) return 'no_target'
  if (backend.mode !== 'tcp') return 'http_routing'
  const { section, inherited } = backend
  if (backend !== proxy) draft.notes.push({ statement: section.statement, field: 'targets', reason: null })
  const lines = [...inherited, ...section.lines]
  conversion.spend(lines.length, section.statement)
  for (const line of section.lines) {
    if (backend !== proxy && line.words[0] === 'mode') judgeMode(line, conversion)
    if (!/^(acl|server|server-template|bind|tcp-request|use_backend|use-server)$/.test(line.words[0] ?? ''))
      judgeRest(line, conversion)
  }
  const shared = new Set(proxy.inherited)
  const own =
    backend === proxy ? [] : lines.filter(line => line.words[0] === 'tcp-request' && !shared.has(line))
  for (const { statement } of own) conversion.verdicts.refuse(statement, 'source_rules')
  draft.balance = 'round_robin'
  const servers = new Servers(draft, {
    isEveryBackupUsed: lines.some(({ words }) => words[0] === 'option' && words[1] === 'allbackups'),
    conversion
  })
  for (const line of lines) {
    applyBackendLine(line, draft)
    servers.read(line)
  }
  return servers.finish() ?? (own.length > 0 ? 'source_rules' : null)
}

function applyBackendLine({ words, statement }: Line, draft: RuleDraft): void {
  const [keyword, value = '', third = ''] = words
  const note = (field: string, reason: Reason | null): void => {
    draft.notes.push({ statement, field, reason })
  }
  if (keyword === 'balance') {
    const known: Readonly<Record<string, RuleDraft['balance']>> = {
      roundrobin: 'round_robin',
      'static-rr': 'round_robin',
      leastconn: 'least_connections',
      source: 'source_hash',
      random: 'random_two',
      first: null
    }
    const algorithm = value === 'hash' && /^src(,|$)/.test(third) ? 'source' : value.replace(/\(.*$/, '')
    const isKnown = Object.hasOwn(known, algorithm)
    draft.balance = isKnown ? (known[algorithm] ?? null) : 'round_robin'
    note('balance', isKnown && algorithm !== 'first' ? null : 'balance')
  } else if (keyword === 'stick' && /^(on|match)$/.test(value) && /^(src|fc_src)$/.test(third)) {
    draft.balance = 'source_hash'
    note('balance', 'stickiness')
  } else if (/^(stick|stick-table)$/.test(keyword ?? '')) note('', 'stickiness')
  else if (keyword === 'hash-type') note('balance', 'balance')
  else if (keyword === 'source') note('', 'dial_from')
  else if (keyword === 'disabled') draft.isPaused = true
}

const serverFlags =
  /^(check|backup|disabled|enabled|send-proxy|send-proxy-v2|send-proxy-v2-ssl|send-proxy-v2-ssl-cn|check-send-proxy|no-check|no-backup|no-send-proxy|no-send-proxy-v2|non-stick|redir|tfo|check-via-socks4|agent-check|no-agent-check|ssl|no-ssl|check-ssl|no-check-ssl|allow-0rtt|init-addr-none|force-tlsv1\d|no-tlsv1\d|ssl-reuse|no-ssl-reuse|tls-tickets|no-tls-tickets|no-sslv3|stick|no-verifyhost)$/

interface ServerOptions {
  readonly flags: ReadonlySet<string>
  readonly values: ReadonlyMap<string, string>
}

const maxServers = 256 // of one backend; a rule has at most 8 targets
const maxDefaultWords = 500

/** The servers of one backend, and the settings that all targets of a rule share. */
class Servers {
  readonly #draft: RuleDraft
  readonly #isEveryBackupUsed: boolean
  readonly #conversion: Conversion
  #defaults: readonly string[] = []
  #header: 0 | 1 | 2 | null = null // of the first server
  #intervalSecs: number | null = null
  #checked = 0
  #count = 0
  #backups = 0
  #rest = maxServers
  #firstProblem: Reason | null = null

  constructor(
    draft: RuleDraft,
    {
      isEveryBackupUsed,
      conversion
    }: { readonly isEveryBackupUsed: boolean; readonly conversion: Conversion }
  ) {
    this.#draft = draft
    this.#isEveryBackupUsed = isEveryBackupUsed
    this.#conversion = conversion
  }

  read({ words, statement }: Line): void {
    const [keyword = '', name = '', address = '', ...options] = words
    if (keyword === 'default-server') {
      this.#conversion.spend(words.length, statement)
      this.#defaults = [...this.#defaults, ...words.slice(1)].slice(0, maxDefaultWords)
      this.#draft.notes.push({ statement, field: 'targets', reason: null })
    } else if (keyword === 'server') this.#add(address, options, statement, null)
    else if (keyword === 'server-template') this.#add(words[3] ?? '', words.slice(4), statement, 'resolver')
    else if (keyword === 'dispatch') this.#add(name, [], statement, null)
  }

  /** Returns why the rule must be refused, or null. */
  finish(): Reason | null {
    const draft = this.#draft
    if (this.#checked > 0) draft.healthCheckSecs = this.#intervalSecs ?? 2
    if (draft.balance === null)
      for (const [at, target] of draft.targets.entries()) draft.targets[at] = { ...target, priority: at }
    if (draft.targets.length === 0) return this.#firstProblem ?? 'no_target'
    if (this.#header === 1 || this.#header === 2) draft.proxyOut = this.#header
    return null
  }

  #add(address: string, options: readonly string[], statement: Statement, difference: Reason | null): void {
    const { verdicts } = this.#conversion
    this.#rest -= 1
    if (this.#rest < 0) {
      verdicts.refuse(statement, 'limit')
      return
    }
    this.#conversion.spend(this.#defaults.length + options.length, statement)
    const { flags, values } = readOptions([...this.#defaults, ...options])
    if (flags.has('disabled')) {
      verdicts.ignore(statement, 'disabled')
      return
    }
    const header = headerVersion(flags)
    const place = readServerAddress(address)
    const problem = this.#problem({ flags, values }, header)
    if (problem !== null || typeof place === 'string') {
      const reason = problem ?? (place as Reason)
      this.#firstProblem ??= reason
      verdicts.refuse(statement, reason)
      return
    }
    this.#header ??= header
    this.#count += 1
    const check = this.#readCheck(flags, values)
    const isBackup = flags.has('backup')
    if (isBackup) this.#backups += 1
    const weight = Number(values.get('weight') ?? 1)
    const slowSecs = parseSeconds(values.get('slowstart') ?? '', 'ms')
    if (slowSecs !== null) this.#draft.slowStartSecs = Math.min(900, Math.round(slowSecs))
    this.#draft.targets.push({
      ...place,
      priority: !isBackup ? 0 : this.#isEveryBackupUsed ? 1 : this.#backups,
      weight: Number.isSafeInteger(weight) && weight >= 0 ? weight : 1,
      statement,
      reason: difference ?? check ?? differenceOf({ flags, values }, header)
    })
  }

  /** Returns why a server cannot be a target of the rule, or null. */
  #problem({ flags, values }: ServerOptions, header: 0 | 1 | 2): Reason | null {
    if (flags.has('ssl')) return 'tls_to_target'
    if (values.has('socks4')) return 'proxy_server'
    return this.#header !== null && header !== this.#header ? 'proxy_header' : null
  }

  /** Returns a difference of the health check: a rule has one interval for all targets. */
  #readCheck(flags: ReadonlySet<string>, values: ServerOptions['values']): Reason | null {
    const isChecked = flags.has('check')
    const given = parseSeconds(values.get('inter') ?? '2000', 'ms') ?? 2
    const secs = Math.min(3600, Math.max(1, Math.round(given)))
    const differs = this.#count > 1 && isChecked !== this.#checked > 0
    if (!isChecked) return differs || flags.has('agent-check') ? 'health_check' : null
    this.#checked += 1
    this.#intervalSecs ??= secs
    const isSame =
      secs === this.#intervalSecs &&
      secs === given &&
      (values.get('rise') ?? '2') === '2' &&
      (values.get('fall') ?? '3') === '3'
    const isOther =
      ['port', 'addr', 'check-sni', 'check-alpn', 'observe', 'agent-port'].some(name => values.has(name)) ||
      flags.has('check-ssl')
    return differs || !isSame || isOther ? 'health_check' : null
  }
}

function differenceOf({ flags, values }: ServerOptions, header: 0 | 1 | 2): Reason | null {
  if (values.has('maxconn')) return 'target_limit'
  if (values.has('source')) return 'dial_from'
  if (values.has('track')) return 'health_check'
  return header === 2 && !flags.has('send-proxy-v2') ? 'proxy_header' : null
}

/** Returns the version of the PROXY header that a server gets; 0 for none. */
function headerVersion(flags: ReadonlySet<string>): 0 | 1 | 2 {
  if (flags.has('send-proxy')) return 1
  return [...flags].some(flag => flag.startsWith('send-proxy-v2')) ? 2 : 0
}

function readOptions(words: readonly string[]): ServerOptions {
  const flags = new Set<string>()
  const values = new Map<string, string>()
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (!serverFlags.test(word)) {
      values.set(word, words[at + 1] ?? '')
      at += 1
    } else if (word.startsWith('no-')) flags.delete(word.slice(3))
    else {
      flags.add(word)
      if (word === 'enabled') flags.delete('disabled')
    }
  }
  return { flags, values }
}

type ServerPlace = Pick<RuleDraft['targets'][number], 'host' | 'port' | 'kind'>

/** Reads `host:80`, `host` (the port of the caller) and `host:+1000` (an offset). */
function readServerAddress(text: string): ServerPlace | Reason {
  if (/^(\/|unix@|abns@|fd@|sockpair@)/.test(text)) return 'unix_socket'
  if (text.includes('$')) return 'variable'
  const plain = text.replace(/^(ipv[46]|tcp[46]?)@/, '')
  const { host, ports } = splitHostPort(plain)
  if (ports === null || ports === '') return { host, port: 0, kind: 'shifted' }
  const [, sign, digits] = /^([+-])(\d{1,5})$/.exec(ports) ?? []
  if (digits !== undefined) return { host, port: Number(`${sign}${digits}`), kind: 'shifted' }
  const range = parsePorts(ports)
  return range === null || range.from !== range.to ? 'port' : { host, port: range.from, kind: 'fixed' }
}
