// nginx: servers, upstreams and maps of `stream`.
import {
  isAnyAddress,
  overlaps,
  type Ports,
  parsePorts,
  parsePrefix,
  parseSeconds,
  parseSniPattern,
  splitHostPort
} from '../address.ts'
import { addressSteps, type Conversion } from '../conversion.ts'
import { type Directive, parseNginx } from '../nginx-syntax.ts'
import type { Reason } from '../reasons.ts'
import type { Statement } from '../report.ts'
import { addNotes, anySource, type DraftTarget, type Note, openDraft, type RuleDraft } from '../rule-draft.ts'
import { IncludeReader, type SourceFile } from '../source-file.ts'

const timeouts =
  /^(proxy_timeout|proxy_connect_timeout|preread_timeout|proxy_protocol_timeout|resolver_timeout|health_check_timeout|proxy_requests|proxy_responses)$/
const tuning =
  /^(proxy_buffer_size|proxy_half_close|proxy_socket_keepalive|preread_buffer_size|tcp_nodelay|variables_hash_\w+|map_hash_\w+|zone|keepalive|proxy_session_drop|proxy_next_upstream_(tries|timeout)|limit_conn_(log_level|status|dry_run)|limit_conn_zone|server_names_hash_\w+|state|sticky)$/
const logging = /^(access_log|error_log|log_format|open_log_file_cache|status_zone)$/
const ended = /^(ssl|ssl_.*)$/
/** Code that may refuse or change connections. */
const code = /^(js_(access|preread|filter)|.*_by_lua(_file|_block)?)$/
const dynamic =
  /^(js_\w+|perl\w*|lua_\w+|.*_by_lua(_file|_block)?|set|return|pass|geo|split_clients|keyval\w*|mqtt\w*)$/

interface Stream {
  readonly upstreams: ReadonlyMap<string, Directive>
  readonly maps: ReadonlyMap<string, Directive>
  readonly splits: ReadonlyMap<string, Directive>
  readonly common: readonly Directive[] // of all servers
}

export function convertNginx(files: readonly SourceFile[], conversion: Conversion): void {
  for (const file of files) {
    const includes = new IncludeReader(file.name === 'stdin' ? '-' : file.name, file)
    const directives = parseNginx(file, includes, conversion)
    const streams = directives
      .filter(({ name }) => name === 'stream')
      .flatMap(stream => {
        conversion.verdicts.map(stream.statement, null)
        return stream.block ?? []
      })
    const rest = directives.filter(({ name }) => name !== 'stream')
    const isFragment = streams.length === 0 && !rest.some(({ name }) => name === 'http' || name === 'events')
    judgeOthers(isFragment ? [] : rest, conversion)
    convertStream(isFragment ? rest : streams, file, conversion)
  }
}

/** Judges what is outside of `stream`. */
function judgeOthers(directives: readonly Directive[], conversion: Conversion): void {
  for (const directive of directives) {
    if (directive.name === 'http') refuseAll(directive, 'http_routing', conversion)
    else if (directive.name === 'mail') refuseAll(directive, 'protocol', conversion)
    else ignoreAll(directive, logging.test(directive.name) ? 'logging' : 'process', conversion)
  }
}

function refuseAll({ statement, block = [] }: Directive, reason: Reason, conversion: Conversion): void {
  conversion.verdicts.refuse(statement, reason)
  for (const inner of block ?? []) refuseAll(inner, reason, conversion)
}

function ignoreAll({ statement, block = [] }: Directive, reason: Reason, conversion: Conversion): void {
  conversion.verdicts.ignore(statement, reason)
  for (const inner of block ?? []) ignoreAll(inner, reason, conversion)
}

function leaveUnused({ statement, block }: Directive, conversion: Conversion): void {
  conversion.verdicts.leaveUnused(statement)
  for (const inner of block ?? []) leaveUnused(inner, conversion)
}

function convertStream(directives: readonly Directive[], file: SourceFile, conversion: Conversion): void {
  const upstreams = new Map(
    directives.filter(({ name }) => name === 'upstream').map(one => [one.values[0] ?? '', one])
  )
  const maps = new Map(directives.filter(({ name }) => name === 'map').map(one => [one.values[1] ?? '', one]))
  const splits = new Map(
    directives.filter(({ name }) => name === 'split_clients').map(one => [one.values[1] ?? '', one])
  )
  const servers = directives.filter(({ name }) => name === 'server')
  const common = directives.filter(({ name }) => !/^(upstream|map|server|match|split_clients)$/.test(name))
  for (const group of [upstreams.values(), maps.values(), splits.values()])
    for (const unused of group) leaveUnused(unused, conversion)
  for (const directive of common) judgeCommon(directive, conversion)
  judgeMatches(directives, servers, conversion)
  judgeMaps(maps, servers, conversion)
  const stream = { upstreams, maps, splits, common }
  const opened = servers.map(server => openServer(server, stream, conversion))
  const defaults = defaultServers(opened)
  for (const server of opened) {
    if (server.directive.block?.some(({ name }) => /^(location|root)$/.test(name)) === true)
      refuseAll(server.directive, 'http_routing', conversion)
    else addServer(server, { stream, defaults, file, conversion })
  }
}

/** A `match` says what a health check expects. A rule only connects. */
function judgeMatches(
  directives: readonly Directive[],
  servers: readonly Directive[],
  { verdicts }: Conversion
): void {
  const used = new Set(
    servers.flatMap(({ block }) =>
      (block ?? []).filter(({ name }) => name === 'health_check').flatMap(({ values }) => values)
    )
  )
  for (const { name, values, statement, block } of directives)
    for (const one of name === 'match' ? [statement, ...(block ?? []).map(inner => inner.statement)] : [])
      if (used.has(`match=${values[0]}`)) verdicts.approximate(one, 'health_check', null)
      else verdicts.leaveUnused(one)
}

/** Refuses the maps of other variables than the TLS name that a server uses. */
function judgeMaps(
  maps: ReadonlyMap<string, Directive>,
  servers: readonly Directive[],
  conversion: Conversion
): void {
  const used = new Set(
    servers.flatMap(({ block }) => (block ?? []).filter(isPass).flatMap(({ values }) => values))
  )
  for (const [variable, map] of maps)
    if (used.has(variable) && map.values[0] !== '$ssl_preread_server_name' && !isConstant(map))
      refuseAll(map, 'variable', conversion)
}

/** `pass` hands connections to a listener of the same nginx, which a rule dials. */
const isPass = ({ name }: Directive): boolean => name === 'proxy_pass' || name === 'pass'

function judgeCommon(directive: Directive, conversion: Conversion): void {
  const { name, statement, block } = directive
  if (block !== null) refuseAll(directive, dynamic.test(name) ? 'variable' : 'unknown_statement', conversion)
  else if (timeouts.test(name)) conversion.verdicts.approximate(statement, 'timeout', null)
  else if (tuning.test(name)) conversion.verdicts.ignore(statement, 'tuning')
  else if (logging.test(name)) conversion.verdicts.ignore(statement, 'logging')
  else if (name === 'resolver') conversion.verdicts.ignore(statement, 'resolver')
  else if (isServerDirective(name)) conversion.verdicts.map(statement, null)
  else if (ended.test(name)) conversion.verdicts.ignore(statement, 'tls_termination')
  else if (dynamic.test(name)) conversion.verdicts.refuse(statement, 'variable')
}

const isServerDirective = (name: string): boolean =>
  /^(allow|deny|proxy_protocol|ssl_preread|set_real_ip_from|proxy_bind|limit_conn|proxy_next_upstream)$/.test(
    name
  )

interface Listen {
  readonly statement: Statement
  readonly host: string
  readonly ports: Ports | null
  readonly flags: ReadonlySet<string>
}

interface Server {
  readonly directive: Directive
  readonly listens: readonly Listen[]
  readonly names: readonly { readonly name: string; readonly statement: Statement }[]
  readonly own: readonly Directive[] // with the common ones that it does not have
}

/** A server inherits an `include` that was not read, because its file can have a filter of callers. */
function openServer(directive: Directive, { common }: Stream, conversion: Conversion): Server {
  conversion.spend(common.length, directive.statement)
  const block = directive.block ?? []
  const names = new Set(block.map(({ name }) => (name === 'deny' ? 'allow' : name)))
  const inherited = common.filter(({ name }) => !names.has(name === 'deny' ? 'allow' : name))
  return {
    directive,
    listens: block.filter(({ name }) => name === 'listen').map(openListen),
    names: block
      .filter(({ name }) => name === 'server_name')
      .flatMap(({ values, statement }) => values.map(name => ({ name, statement }))),
    own: [...block, ...inherited]
  }
}

function openListen({ values, statement }: Directive): Listen {
  const [address = '', ...flags] = values
  const { host, ports } = /^\d+(-\d+)?$/.test(address) ? { host: '', ports: address } : splitHostPort(address)
  return { statement, host, ports: ports === null ? null : parsePorts(ports), flags: new Set(flags) }
}

/**
 * Returns the statements of the listens that take connections without a matching server_name. A listen that no server with a
 * name shares takes all connections, and is none of them.
 */
function defaultServers(servers: readonly Server[]): ReadonlySet<Statement> {
  const first = new Map<string, { statement: Statement; isGiven: boolean }>()
  const named = new Set<string>()
  for (const { listens, names } of servers)
    for (const { statement, ports, host, flags } of listens) {
      const key = `${host}/${ports?.from}/${flags.has('udp')}`
      const isGiven = flags.has('default_server') || flags.has('default')
      const known = first.get(key)
      if (names.length > 0) named.add(key)
      if (!known || (isGiven && !known.isGiven)) first.set(key, { statement, isGiven })
    }
  return new Set([...first].flatMap(([key, { statement }]) => (named.has(key) ? [statement] : [])))
}

interface Context {
  readonly stream: Stream
  readonly defaults: ReadonlySet<Statement>
  readonly file: SourceFile
  readonly conversion: Conversion
}

/** A destination of a server: for connections with a TLS name, or for all. */
interface Route {
  readonly pattern: string | null
  readonly isFallback: boolean
  readonly target: string
  readonly notes: readonly Note[]
  readonly reason: Reason | null
}

function addServer(server: Server, context: Context): void {
  const { directive, listens, names, own } = server
  const { file, conversion } = context
  const { verdicts } = conversion
  const settings = new Settings(server, conversion)
  const pass = own.find(isPass)
  if (!pass) {
    refuseAll(directive, own.some(({ name }) => code.test(name)) ? 'plugin' : 'no_target', conversion)
    return
  }
  for (const listen of listens) {
    const isDefault = context.defaults.has(listen.statement)
    const nameRoutes =
      names.length > 0 || isDefault ? routesOfNames(names, pass, isDefault, conversion) : null
    const routes = routesOf(pass, context, nameRoutes)
    for (const route of routes ?? []) {
      const draft = openDraft({
        client: file.client,
        statement: directive.statement,
        listen: listen.ports ?? { from: 1, to: 1 },
        listenHost: listen.host,
        protocol: listen.flags.has('udp') ? 'udp' : 'tcp'
      })
      const isAddress = !isAnyAddress(listen.host)
      draft.notes.push({
        statement: listen.statement,
        field: 'listen_port',
        reason: isAddress ? 'listen_address' : null
      })
      const reason = pass.name === 'pass' ? 'source_address' : null
      draft.notes.push({ statement: pass.statement, field: 'targets', reason }, ...route.notes)
      draft.blamed =
        listen.ports === null ? listen.statement : (route.notes[0]?.statement ?? directive.statement)
      conversion.spend(own.length, directive.statement)
      draft.sniPattern = route.pattern
      draft.isSniFallback = route.isFallback
      settings.apply(draft)
      const hasHeader = listen.flags.has('proxy_protocol') && draft.protocol === 'tcp'
      if (hasHeader) draft.proxyIn = settings.proxies ?? anySource
      const problem =
        settings.problem ??
        (hasHeader && settings.proxies === null && settings.isFiltered ? 'source_rules' : null) ??
        (listen.flags.has('ssl') ? 'tls_termination' : null) ??
        (listen.host.startsWith('unix') ? 'unix_socket' : null) ??
        addTargets(draft, route.target, context)
      if (problem !== null) conversion.refuseRule(draft, problem)
      else if (listen.ports === null) conversion.refuseRule(draft, 'port')
      else conversion.addRule(draft)
    }
    if (routes === null) {
      conversion.spend(own.length, directive.statement)
      verdicts.refuse(pass.statement, 'variable')
      verdicts.refuse(directive.statement, 'variable')
      verdicts.refuseWithRule(listen.statement, 'variable')
      settings.refuse('variable')
    }
  }
  if (listens.length === 0) refuseAll(directive, 'port', conversion)
}

function routesOfNames(
  names: Server['names'],
  pass: Directive,
  isDefault: boolean,
  conversion: Conversion
): readonly Route[] {
  const target = pass.values[0] ?? ''
  conversion.spend(names.length, pass.statement)
  const routes = names.flatMap(({ name, statement }) => routesOfName(name, target, statement, conversion))
  return isDefault
    ? [...routes, { pattern: null, isFallback: true, target, notes: [], reason: null }]
    : routes
}

/** `*.example.org` matches names of any depth in nginx, and one more label in a rule. */
function routesOfName(name: string, target: string, statement: Statement, conversion: Conversion): Route[] {
  const { verdicts } = conversion
  const patterns = name.startsWith('.') ? [name.slice(1), `*${name}`] : [name]
  const parsed = name.startsWith('~') || name === '' ? [null] : patterns.map(parseSniPattern)
  if (parsed.includes(null)) {
    verdicts.refuse(statement, 'acl')
    return []
  }
  const reason: Reason | null = parsed.some(pattern => pattern?.startsWith('*.')) ? 'sni_depth' : null
  return parsed.map(pattern => ({
    pattern,
    isFallback: false,
    target,
    reason,
    notes: [{ statement, field: 'sni_pattern', reason }]
  }))
}

/** `map "" $name` only declares a variable, so that nginx resolves a name for each connection. */
const isConstant = ({ values }: Directive): boolean => values[0] === ''

function routesOfConstant(
  { block, statement }: Directive,
  nameRoutes: readonly Route[] | null,
  { verdicts }: Conversion
): readonly Route[] | null {
  const value = (block ?? []).find(({ name }) => name === 'default')
  const target = value?.values[0] ?? ''
  if (!value || block?.length !== 1 || target.includes('$')) return null
  verdicts.map(statement, null)
  const note: Note = { statement: value.statement, field: 'targets', reason: null }
  const all: Route = { pattern: null, isFallback: false, target, notes: [], reason: null }
  return (nameRoutes ?? [all]).map(route => ({ ...route, target, notes: [...route.notes, note] }))
}

/** Returns the routes of `proxy_pass`; null if it has a variable that no map by TLS name defines. */
function routesOf(
  pass: Directive,
  { stream, conversion }: Context,
  nameRoutes: readonly Route[] | null
): readonly Route[] | null {
  const target = (pass.values[0] ?? '').replace(/^\$\{(\w+)\}$/, '$$$1')
  if (!target.includes('$') || /^[^$]+:\$server_port$/.test(target) || stream.splits.has(target))
    return nameRoutes ?? [{ pattern: null, isFallback: false, target, notes: [], reason: null }]
  const map = stream.maps.get(target)
  if (map && isConstant(map)) return routesOfConstant(map, nameRoutes, conversion)
  if (!map || nameRoutes !== null || map.values[0] !== '$ssl_preread_server_name') return null
  const block = map.block ?? []
  const hasHostnames = block.some(({ name, values }) => name === 'hostnames' && values.length === 0)
  const routes: Route[] = []
  conversion.spend(block.length, map.statement)
  conversion.verdicts.map(map.statement, null)
  for (const { name, values, statement } of block) {
    const [value = ''] = values
    if (name === 'include') continue // it is refused
    if (name === 'hostnames' || name === 'volatile') conversion.verdicts.map(statement, null)
    else if (name === 'default') {
      if (value === '') conversion.verdicts.ignore(statement, 'not_used')
      else
        routes.push({
          pattern: null,
          isFallback: true,
          target: value,
          reason: null,
          notes: [{ statement, field: 'sni_fallback', reason: null }]
        })
    } else if (/^[.*]/.test(name) && !hasHostnames)
      conversion.verdicts.ignore(statement, 'not_used') // nginx reads it as a whole name
    else routes.push(...routesOfName(name.replace(/^\\/, ''), value, statement, conversion))
  }
  return routes
}

/** The directives of a server that become fields of its rules. */
class Settings {
  problem: Reason | null = null
  proxies: string[] | null = null
  readonly #own: readonly Directive[]
  readonly #conversion: Conversion
  readonly #isUdpOnly: boolean
  readonly #notes: Note[] = []
  readonly #access: Access | null
  #proxyOut: 1 | null = null
  #sourceConnections: number | null = null
  #checkSecs: number | null = null

  constructor({ own, listens }: Server, conversion: Conversion) {
    this.#own = own
    this.#conversion = conversion
    this.#isUdpOnly = listens.every(({ flags }) => flags.has('udp'))
    this.#access = readAccess(own.filter(isAccess), conversion)
    if (this.#access === null) this.problem = 'source_rules'
    for (const directive of own) this.#read(directive)
  }

  /**
   * True with `allow` or `deny`. Without `set_real_ip_from` they are about the proxies; those of a rule are about the address
   * in the header, which any caller could choose then.
   */
  get isFiltered(): boolean {
    return this.#own.some(isAccess)
  }

  apply(draft: RuleDraft): void {
    addNotes(draft, this.#notes)
    addNotes(draft, this.#access?.notes ?? [])
    if (this.#access === null)
      for (const { statement } of this.#own.filter(isAccess))
        this.#conversion.verdicts.refuse(statement, 'source_rules')
    draft.proxyOut = this.#proxyOut
    draft.allowSources = this.#access?.allow ?? null
    draft.denySources = this.#access?.deny ?? null
    draft.sourceConnections = this.#sourceConnections
    draft.healthCheckSecs = this.#checkSecs
  }

  /** Refuses the directives, unless another rule uses them. */
  refuse(reason: Reason): void {
    for (const { statement } of [...this.#notes, ...(this.#access?.notes ?? [])])
      this.#conversion.verdicts.refuseWithRule(statement, reason)
  }

  #read(directive: Directive): void {
    const { verdicts } = this.#conversion
    const { name, values, statement, block } = directive
    if (name === 'include')
      this.problem ??= 'include' // it can have a filter of callers
    else if (code.test(name)) {
      this.problem ??= 'plugin'
      verdicts.refuse(statement, 'plugin')
    } else if (block !== null)
      verdicts.refuse(statement, dynamic.test(name) ? 'variable' : 'unknown_statement')
    else if (timeouts.test(name)) this.#note(directive, '', 'timeout')
    else if (name === 'set_real_ip_from') this.#addProxy(directive)
    else if (name === 'limit_conn') this.#limitConnections(directive)
    else if (name === 'ssl_preread') this.#note(directive, 'sni_pattern')
    else if (name === 'proxy_protocol') this.#sendHeader(directive)
    else if (name === 'health_check') this.#checkHealth(directive)
    else if (name === 'proxy_ssl' && values[0] === 'on') {
      this.problem ??= 'tls_to_target'
      verdicts.refuse(statement, 'tls_to_target')
    } else this.#judgeRest(directive)
  }

  #judgeRest(directive: Directive): void {
    const { verdicts } = this.#conversion
    const { name, values, statement } = directive
    const [value = ''] = values
    if (name === 'proxy_bind') this.#note(directive, '', value === 'off' ? null : 'dial_from')
    else if (name === 'proxy_next_upstream') this.#note(directive, '', value === 'off' ? 'failover' : null)
    else if (/^proxy_(download|upload)_rate$/.test(name)) {
      if (value === '0') this.#note(directive, '')
      else verdicts.refuse(statement, 'connection_limit')
    } else if (logging.test(name)) verdicts.ignore(statement, 'logging')
    else if (tuning.test(name)) verdicts.ignore(statement, 'tuning')
    else if (/^(proxy_)?ssl/.test(name)) verdicts.ignore(statement, 'tls_termination')
    else if (name === 'resolver') verdicts.ignore(statement, 'resolver')
    else if (dynamic.test(name) && name !== 'pass') verdicts.refuse(statement, 'variable')
  }

  #note({ statement }: Directive, field: string, reason: Reason | null = null): void {
    this.#notes.push({ statement, field, reason })
  }

  #sendHeader(directive: Directive): void {
    const isOn = directive.values[0] === 'on'
    if (isOn) this.#proxyOut = 1
    this.#note(directive, 'proxy_out', isOn && this.#isUdpOnly ? 'proxy_header' : null)
  }

  #addProxy(directive: Directive): void {
    const prefix = parsePrefix(directive.values[0] ?? '')
    if (prefix === null) {
      this.#conversion.verdicts.refuse(directive.statement, 'source_rules')
      return
    }
    this.proxies ??= []
    this.proxies.push(prefix)
    this.#note(directive, 'proxy_in', 'proxy_header')
  }

  /** Only a limit for each caller is one of a rule. */
  #limitConnections(directive: Directive): void {
    const [zone = '', count = ''] = directive.values
    const isZone = ({ name, values }: Directive): boolean =>
      name === 'limit_conn_zone' &&
      /^\$(binary_)?remote_addr$/.test(values[0] ?? '') &&
      values[1]?.startsWith(`zone=${zone}:`) === true
    this.#conversion.spend(this.#own.length, directive.statement)
    if (!/^[1-9]\d{0,5}$/.test(count) || !this.#own.some(isZone))
      this.#conversion.verdicts.refuse(directive.statement, 'connection_limit')
    else {
      this.#sourceConnections = Number(count)
      this.#note(directive, 'source_limit', 'source_limit')
    }
  }

  #checkHealth(directive: Directive): void {
    this.#checkSecs = checkSeconds(directive)
    const isMore = directive.values.some(text => !text.startsWith('interval='))
    if (this.#isUdpOnly) this.#note(directive, '', 'health_check')
    else this.#note(directive, 'health_check_interval_secs', isMore ? 'health_check' : null)
  }
}

const isAccess = ({ name }: Directive): boolean => name === 'allow' || name === 'deny'

function checkSeconds({ values }: Directive): number {
  const given = values.find(text => text.startsWith('interval='))?.slice('interval='.length) ?? '5'
  return Math.min(3600, Math.max(1, Math.round(parseSeconds(given, 's') ?? 5)))
}

interface Access {
  readonly allow: readonly string[] | null
  readonly deny: readonly string[] | null
  readonly notes: readonly Note[]
}

const maxAccess = 600 // a rule has at most 256 of each

/** The first match decides in nginx, and `deny_sources` wins in a rule. Returns null for an order that a rule cannot express. */
function readAccess(directives: readonly Directive[], conversion: Conversion): Access | null {
  const allow: string[] = []
  const deny: string[] = []
  let end: 'allow' | 'deny' | null = null
  const notes: Note[] = []
  for (const { name, values, statement } of directives) {
    const [value = ''] = values
    const isAllow = name === 'allow'
    if (end !== null) {
      notes.push({ statement, field: '', reason: 'not_used' })
      continue
    }
    notes.push({ statement, field: isAllow ? 'allow_sources' : 'deny_sources', reason: null })
    if (value === 'all') end = isAllow ? 'allow' : 'deny'
    else {
      const prefix = parsePrefix(value)
      if (prefix === null || allow.length + deny.length > maxAccess) return null
      if (!isAllow) conversion.spend(addressSteps * allow.length, statement)
      if (isAllow) allow.push(prefix)
      else if (allow.some(allowed => overlaps(allowed, prefix))) return null
      else deny.push(prefix)
    }
  }
  const isClosed = end === 'deny'
  if (isClosed && allow.length === 0 && directives.length > 0) return null
  return { allow: isClosed ? allow : null, deny: deny.length > 0 ? deny : null, notes }
}

type Destinations = Pick<Context, 'stream' | 'conversion'>

/** Adds the targets of `split_clients`: each part of the callers has a weight. */
function addSplit(
  draft: RuleDraft,
  { statement, values, block }: Directive,
  context: Destinations
): Reason | null {
  const [key = ''] = values
  draft.notes.push({ statement, field: 'balance', reason: 'balance' })
  let rest = 100
  for (const { name, values: own, statement: of } of block ?? []) {
    const [value = ''] = own
    const percent = name === '*' ? rest : Number(name.replace(/%$/, ''))
    const before = draft.targets.length
    draft.notes.push({ statement: of, field: 'targets', reason: null })
    const problem = value.includes('$') ? 'variable' : addTargets(draft, value, context)
    if (problem !== null || !(percent >= 0)) return problem ?? 'variable'
    const added = draft.targets.splice(before)
    const sum = added.reduce((total, { weight }) => total + weight, 0)
    for (const target of added)
      draft.targets.push({ ...target, weight: Math.round((percent * 100 * target.weight) / sum) })
    rest -= percent
  }
  draft.balance = key.includes('remote_addr') ? 'source_hash' : 'round_robin'
  return draft.targets.length === 0 ? 'no_target' : null
}

/** Adds the targets of an address or an upstream. Returns why the rule must be refused, or null. */
function addTargets(draft: RuleDraft, text: string, { stream, conversion }: Destinations): Reason | null {
  if (text.startsWith('unix:')) return 'unix_socket'
  const split = stream.splits.get(text)
  if (split) return addSplit(draft, split, { stream, conversion })
  const upstream = stream.upstreams.get(text)
  if (upstream) return addUpstream(draft, upstream, conversion)
  if (text.includes('$') && !text.endsWith(':$server_port')) return 'variable'
  const target = targetFrom(text)
  const statement =
    draft.notes.findLast(({ field }) => /^(targets|sni_pattern|sni_fallback)$/.test(field))?.statement ??
    draft.statement
  if (target === null) return 'no_target'
  draft.targets.push({
    ...target,
    priority: 0,
    weight: 1,
    statement,
    reason: draft.notes.find(note => note.statement === statement)?.reason ?? null
  })
  return null
}

function targetFrom(text: string): Pick<DraftTarget, 'host' | 'port' | 'kind'> | null {
  const { host, ports } = splitHostPort(text)
  if (ports === '$server_port') return { host, port: 0, kind: 'shifted' }
  const range = ports === null ? null : parsePorts(ports)
  return range === null || range.from !== range.to ? null : { host, port: range.from, kind: 'fixed' }
}

function addUpstream(
  draft: RuleDraft,
  { statement, block }: Directive,
  conversion: Conversion
): Reason | null {
  const { verdicts } = conversion
  const note = (of: Statement, field: string, reason: Reason | null = null): void => {
    draft.notes.push({ statement: of, field, reason })
  }
  note(statement, 'targets')
  conversion.spend(block?.length ?? 0, statement)
  draft.balance = 'round_robin'
  for (const one of block ?? []) {
    const { name, values } = one
    conversion.spend(values.length, statement)
    if (name === 'server') addUpstreamServer(draft, one, verdicts)
    else if (name === 'least_conn' || name === 'least_time') {
      draft.balance = 'least_connections'
      note(one.statement, 'balance', name === 'least_time' ? 'balance' : null)
    } else if (name === 'random') {
      draft.balance = 'random_two'
      note(
        one.statement,
        'balance',
        values[0] === 'two' && !values[1]?.startsWith('least_time') ? null : 'balance'
      )
    } else if (name === 'hash') {
      const isSource = values[0] === '$remote_addr' || values[0] === '$binary_remote_addr'
      if (isSource) draft.balance = 'source_hash'
      note(one.statement, 'balance', isSource ? null : 'balance')
    } else if (tuning.test(name)) verdicts.ignore(one.statement, 'tuning')
    else if (name === 'resolver' || name === 'resolver_timeout') verdicts.ignore(one.statement, 'resolver')
    else verdicts.refuse(one.statement, dynamic.test(name) ? 'variable' : 'unknown_statement')
  }
  return draft.targets.length === 0 ? 'no_target' : null
}

function addUpstreamServer(
  draft: RuleDraft,
  { values, statement }: Directive,
  verdicts: Conversion['verdicts']
): void {
  const [address = '', ...options] = values
  const given = new Map(
    options.map(option => [option.split('=', 1)[0] ?? '', option.slice(option.indexOf('=') + 1)])
  )
  const target = targetFrom(address)
  if (given.has('down')) {
    verdicts.ignore(statement, 'disabled')
    return
  }
  if (target === null) {
    verdicts.refuse(statement, address.startsWith('unix:') ? 'unix_socket' : 'port')
    return
  }
  const weight = Number(given.get('weight') ?? 1)
  const reason: Reason | null = given.has('max_conns')
    ? 'target_limit'
    : given.has('max_fails') || given.has('fail_timeout')
      ? 'failover'
      : null
  const slow = parseSeconds(given.get('slow_start') ?? '', 's')
  if (slow !== null) draft.slowStartSecs = Math.min(900, Math.round(slow))
  draft.targets.push({
    ...target,
    priority: given.has('backup') ? 1 : 0,
    weight: Number.isSafeInteger(weight) && weight > 0 ? weight : 1,
    statement,
    reason
  })
}
