// frp: proxies of frpc become rules on the client of frps, with `via` the client of frpc.
import { extname } from 'node:path'
import { isLoopback } from '../../../kernel/platform/network.ts'
import { isAnyAddress, type Ports, parsePorts, parseSniPattern } from '../address.ts'
import { ClientNames } from '../client-name.ts'
import { addressSteps, type Conversion } from '../conversion.ts'
import { canonicalKeys, parseLegacy } from '../frp-keys.ts'
import {
  type NumberRange,
  pairRanges,
  parseTemplate,
  type Span,
  type TemplateFile,
  unknownValue
} from '../frp-template.ts'
import type { Reason } from '../reasons.ts'
import type { Statement } from '../report.ts'
import { addNotes, type Note, openDraft, type RuleDraft } from '../rule-draft.ts'
import { type Environment, IncludeReader, type SourceFile } from '../source-file.ts'
import { parseStructured, type TableNode } from '../structured-file.ts'
import { TableReader } from '../table-reader.ts'

type TextValue = NonNullable<ReturnType<TableReader['takeText']>>

/** A frps. */
interface Server {
  readonly client: string
  readonly listenHost: string
  readonly httpsPort: TextValue | null
  readonly subdomainHost: TextValue | null
  readonly allowed: readonly Ports[] | null // sorted; null: all ports
  readonly notes: readonly Note[] // for each rule
  readonly isGiven: boolean // false: only its address is known
  readonly isFiltered: boolean // a plugin decides about callers
}

/** A frpc. */
interface Side {
  readonly server: Server
  readonly exit: string
  readonly started: ReadonlySet<string> | null // null: all proxies
  readonly ranges: readonly NumberRange[]
}

interface Proxy {
  readonly side: Side
  readonly statement: Statement
  readonly protocol: 'tcp' | 'udp' | 'https'
  readonly name: string
  readonly host: string
  readonly localPort: TextValue | null
  readonly remotePort: string
  readonly domains: readonly string[]
  readonly group: string | null // with its key; null: the proxy is alone
  readonly settings: Settings
  readonly notes: readonly Note[]
}

interface Settings {
  readonly healthCheckSecs: number | null
  readonly proxyOut: 1 | 2 | null
  readonly bitsPerSec: number | null
}

/** Ports of one rule: consecutive ones, or one. */
interface Place {
  readonly listen: Ports
  readonly port: number
  readonly kind: 'fixed' | 'shifted'
  readonly replace: (text: string) => string // puts in the numbers of a range
}

export function convertFrp(
  files: readonly SourceFile[],
  conversion: Conversion,
  environment: Environment
): void {
  new FrpConversion(conversion, environment).convert(files)
}

class FrpConversion {
  readonly #conversion: Conversion
  readonly #environment: Environment
  readonly #names = new ClientNames()
  readonly #unseen = new Map<string, Server>() // of frpc without the file of their frps, by address
  readonly #drafts: RuleDraft[] = []
  readonly #groups = new Map<string, RuleDraft>()

  constructor(conversion: Conversion, environment: Environment) {
    this.#conversion = conversion
    this.#environment = environment
  }

  convert(files: readonly SourceFile[]): void {
    const parsed = files.map(file => ({ file, ...this.#parse(file) }))
    const servers = parsed.map(({ file, root }) =>
      isServer(file, root) ? this.#readServer(root, file) : null
    )
    let server = servers.find(one => one !== null) ?? null
    for (const [at, { file, root, ranges }] of parsed.entries()) {
      server = servers[at] ?? server
      if (!servers[at])
        this.#readClient(new TableReader(root, file.name, this.#conversion), file, server, ranges)
    }
    for (const draft of this.#drafts) this.#conversion.addRule(draft)
  }

  #parse(file: SourceFile): TemplateFile {
    return parseTemplate(file, parseAny, { environment: this.#environment, conversion: this.#conversion })
  }

  #readServer(node: TableNode, file: SourceFile): Server {
    const { verdicts } = this.#conversion
    const root = new TableReader(node, file.name, this.#conversion)
    const bindAddr = root.takeText('bindAddr')
    const proxyBindAddr = root.takeText('proxyBindAddr')
    const address = proxyBindAddr ?? bindAddr
    const httpsPort = root.takeText('vhostHTTPSPort')
    const subdomainHost = root.takeText('subDomainHost')
    for (const value of [bindAddr, proxyBindAddr, httpsPort, subdomainHost])
      if (value) verdicts.leaveUnused(value.statement)
    const allowed = this.#readAllowed(root)
    const isFiltered = this.#readServerPlugins(root)
    for (const key of ['vhostHTTPPort', 'vhostHTTPTimeout', 'custom404Page']) root.ignore(key, 'http_routing')
    for (const key of ['tcpmuxHTTPConnectPort', 'tcpmuxPassthrough']) root.ignore(key, 'http_connect')
    for (const key of ['bindPort', 'kcpBindPort', 'quicBindPort', 'detailedErrorsToClient', 'allowPorts'])
      root.ignore(key, 'transport')
    for (const key of ['natholeAnalysisDataReserveHours', 'bindUdpPort']) root.ignore(key, 'visitor')
    root.ignore('maxPortsPerClient', 'process')
    root.approximate('userConnTimeout', 'timeout')
    root.refuse('sshTunnelGateway', 'remote_forwarding')
    finishRoot(root)
    return {
      client: this.#names.take(file.client),
      listenHost: address?.value ?? '',
      httpsPort,
      subdomainHost,
      allowed,
      notes:
        address && !isAnyAddress(address.value)
          ? [{ statement: address.statement, field: '', reason: 'listen_address' }]
          : address
            ? [{ statement: address.statement, field: '', reason: null }]
            : [],
      isGiven: true,
      isFiltered
    }
  }

  /** Reads `[{start, end}, {single}]`, or the list of INI files. A part that is no port allows none. */
  #readAllowed(root: TableReader): Ports[] | null {
    const { verdicts } = this.#conversion
    const list = root.take('allowPorts')
    const ports: Ports[] = []
    const allow = (text: string, statements: readonly Statement[]): void => {
      const range = parsePorts(text)
      if (range) ports.push(range)
      for (const statement of statements)
        if (range) verdicts.map(statement, null)
        else verdicts.refuse(statement, 'port')
    }
    if (list) verdicts.map(list.statement, null)
    if (list) for (const value of [list.value].flat()) allow(String(value), [list.statement])
    const tables = list ? [] : root.takeTables('allowPorts')
    for (const table of tables) {
      const single = table.takeText('single')
      const start = single ?? table.takeText('start')
      const end = single ?? table.takeText('end')
      const given = [start, end].flatMap(value => (value ? [value.statement] : []))
      allow(`${start?.value}-${end?.value}`, [table.statement, ...given])
      table.finish()
    }
    const isEmpty = list === null ? tables.length === 0 : [list.value].flat().length === 0
    return isEmpty ? null : joinPorts(ports)
  }

  /** Refuses plugins. Returns true if one of them decides about connections of callers. */
  #readServerPlugins(root: TableReader): boolean {
    let isFiltered = false
    for (const plugin of root.takeTables('httpPlugins')) {
      const ops = plugin.take('ops')
      isFiltered ||=
        !Array.isArray(ops?.value) || ops.value.some(op => String(op).toLowerCase() === 'newuserconn')
      for (const statement of [plugin.statement, ...(ops ? [ops.statement] : [])])
        this.#conversion.verdicts.refuse(statement, 'plugin')
      plugin.finish('plugin')
    }
    return isFiltered
  }

  #readClient(root: TableReader, file: SourceFile, given: Server | null, ranges: NumberRange[]): void {
    const { verdicts } = this.#conversion
    const user = root.takeText('user')
    const address = root.takeText('serverAddr')
    const port = root.takeText('serverPort')
    const start = root.take('start')
    const includes = root.take('includes')
    if (user) verdicts.map(user.statement, null)
    if (start) verdicts.map(start.statement, null)
    for (const value of [address, port]) if (value) verdicts.ignore(value.statement, 'transport')
    const server = given ?? this.#unseenServer(address?.value ?? '', port?.value ?? '')
    const started = start ? new Set([start.value].flat().map(String)) : null
    const side = {
      server,
      exit: this.#names.take(
        user && user.value !== unknownValue && user.value !== '' ? user.value : file.client
      ),
      started: started?.size === 0 ? null : started,
      ranges
    }
    this.#readProxies(root, side)
    root.ignore('natHoleStunServer', 'visitor')
    root.ignore('dnsServer', 'resolver')
    for (const key of ['serverUser', 'clientID']) root.ignore(key, 'transport')
    for (const key of ['loginFailExit', 'featureGates', 'store']) root.ignore(key, 'process')
    root.refuse('virtualNet', 'protocol')
    finishRoot(root)
    if (includes) this.#readIncludes(includes, file, side)
  }

  #readIncludes(includes: NonNullable<ReturnType<TableReader['take']>>, file: SourceFile, side: Side): void {
    const { verdicts } = this.#conversion
    const { statement, value } = includes
    const reader = new IncludeReader(file.name === 'stdin' ? '-' : file.name, file)
    for (const pattern of [value].flat()) {
      const from = { file: file.name, line: statement.line, depth: 0 }
      const files = reader.read(String(pattern), from)
      if (typeof files === 'string') verdicts.refuse(statement, 'include')
      else verdicts.map(statement, null)
      for (const included of typeof files === 'string' ? [] : files) {
        const { root: node, ranges } = this.#parse(included)
        const root = new TableReader(node, included.name, this.#conversion)
        this.#readProxies(root, { ...side, ranges })
        root.finish()
      }
    }
  }

  /** Returns what stands for a frps without a file: the client is named after its address. */
  #unseenServer(address: string, port: string): Server {
    const key = `${address}:${port}`
    const known = this.#unseen.get(key)
    if (known) return known
    const isNamed =
      address !== '' && !/^(localhost|\{.*)$/.test(address) && !isAnyAddress(address) && !isLoopback(address)
    const server: Server = {
      client: this.#names.take(isNamed ? address : 'frps'),
      listenHost: '',
      httpsPort: null,
      subdomainHost: null,
      allowed: null,
      notes: [],
      isGiven: false,
      isFiltered: false
    }
    this.#unseen.set(key, server)
    return server
  }

  #readProxies(root: TableReader, side: Side): void {
    for (const table of root.takeTables('proxies')) this.#readProxy(table, side)
    for (const visitor of root.takeTables('visitors')) refuseAll(visitor, 'visitor', this.#conversion)
  }

  #readProxy(table: TableReader, side: Side): void {
    const { verdicts } = this.#conversion
    for (const key of ['metadatas', 'requestHeaders', 'responseHeaders']) table.hide(key)
    const name = table.takeText('name')
    const type = table.takeText('type')
    const enabled = table.takeText('enabled')
    const heads = [
      table.statement,
      ...[name, type, enabled].flatMap(value => (value ? [value.statement] : []))
    ]
    const isInRange = rangeIn([name?.value ?? '']) !== null
    const isStarted = side.started === null || isInRange || isNamedIn(side.started, name?.value ?? '')
    const plugin = table.takeTable('plugin')
    plugin?.hide('requestHeaders')
    const problem = plugin
      ? 'plugin'
      : isInRange && side.started !== null
        ? 'variable' // which of its numbers start
        : problemOfType(type?.value ?? 'tcp')
    if (enabled?.value === 'false' || !isStarted) {
      for (const statement of heads) verdicts.ignore(statement, 'disabled')
      plugin?.ignoreRest('disabled')
      table.ignoreRest('disabled')
    } else if (problem !== null) {
      for (const statement of heads) verdicts.refuse(statement, problem)
      if (plugin) refuseAll(plugin, problem, this.#conversion)
      refuseAll(table, problem, this.#conversion)
    } else {
      const protocol = type?.value === 'udp' || type?.value === 'https' ? type.value : 'tcp'
      const notes = heads.map(statement => ({ statement, field: '', reason: null }))
      const statement = name?.statement ?? table.statement
      this.#place(this.#readForward(table, { side, statement, protocol, name: name?.value ?? '' }, notes))
    }
  }

  #readForward(
    table: TableReader,
    head: Pick<Proxy, 'side' | 'statement' | 'protocol' | 'name'>,
    heads: readonly Note[]
  ): Proxy {
    const { server } = head.side
    const isHttps = head.protocol === 'https'
    const notes = [...heads, ...server.notes]
    const take = (key: string, field: string, from: TableReader | null = table): TextValue | null => {
      const value = from?.takeText(key) ?? null
      if (value) notes.push({ statement: value.statement, field, reason: null })
      return value
    }
    const host = take('localIP', 'targets')
    const localPort = table.takeText('localPort')
    const remotePort = isHttps ? null : take('remotePort', 'listen_port')
    const domains = isHttps ? table.take('customDomains') : null
    const subdomain = isHttps ? take('subdomain', 'sni_pattern') : null
    const names = domains ? [domains.value].flat().map(String) : []
    if (domains) notes.push({ statement: domains.statement, field: 'sni_pattern', reason: depthOf(names) })
    const parent = server.subdomainHost
    const isPartial = subdomain !== null && !parent && !server.isGiven && names.length > 0
    if (isPartial) this.#conversion.verdicts.refuse(subdomain.statement, 'other_side')
    else if (subdomain) names.push(parent ? `${subdomain.value}.${parent.value}` : noParent)
    if (subdomain && parent) notes.push({ statement: parent.statement, field: 'sni_pattern', reason: null })
    if (isHttps && server.httpsPort)
      notes.push({ statement: server.httpsPort.statement, field: 'listen_port', reason: null })
    if (isHttps && !server.isGiven) notes.push({ statement: head.statement, field: '', reason: 'other_side' })

    const balancer = table.takeTable('loadBalancer')
    if (balancer) notes.push({ statement: balancer.statement, field: 'balance', reason: null })
    const group = balancer?.takeText('group')
    const groupKey = balancer?.takeText('groupKey')
    if (groupKey) this.#conversion.verdicts.ignore(groupKey.statement, 'secret')
    if (group) notes.push({ statement: group.statement, field: 'balance', reason: 'balance' })
    balancer?.finish()
    const settings = this.#readSettings(table, head.protocol, group !== null && group !== undefined, notes)
    table.ignore('annotations', 'logging')
    table.finish()
    const id = rangeIn([
      head.name,
      host?.value ?? '',
      localPort?.value ?? '',
      remotePort?.value ?? '',
      ...names
    ])
    for (const statement of id === null ? [] : (head.side.ranges[id]?.statements ?? []))
      notes.push({ statement, field: '', reason: null })
    return {
      ...head,
      host: host?.value ?? '127.0.0.1',
      localPort,
      remotePort: isHttps
        ? (server.httpsPort?.value ?? (server.isGiven ? '0' : '443'))
        : (remotePort?.value ?? '0'),
      domains: names,
      group: group && group.value !== '' ? JSON.stringify([group.value, groupKey?.value ?? '']) : null,
      settings,
      notes
    }
  }

  #readSettings(
    table: TableReader,
    protocol: Proxy['protocol'],
    isGrouped: boolean,
    notes: Note[]
  ): Settings {
    const transport = table.takeTable('transport')
    const note = (value: TextValue | null | undefined, field: string, reason: Reason | null): void => {
      if (value) notes.push({ statement: value.statement, field, reason })
    }
    if (transport) notes.push({ statement: transport.statement, field: '', reason: null })
    for (const key of ['useEncryption', 'useCompression', 'privilegeMode'])
      transport?.ignore(key, 'transport')
    const limit = transport?.takeText('bandwidthLimit')
    const bits = parseBandwidth(limit?.value ?? '')
    note(limit, 'rate_limit', bits === null ? 'connection_limit' : isGrouped ? 'target_limit' : null)
    note(transport?.takeText('bandwidthLimitMode'), 'rate_limit', null)
    const header = transport?.takeText('proxyProtocolVersion')
    const isKnown = header === null || header === undefined || /^(v1|v2)?$/.test(header.value)
    note(header, 'proxy_out', isKnown && protocol !== 'udp' ? null : 'proxy_header')
    transport?.finish()

    const check = table.takeTable('healthCheck')
    check?.hide('httpHeaders')
    if (check) notes.push({ statement: check.statement, field: 'health_check_interval_secs', reason: null })
    const type = check?.takeText('type')
    const interval = check?.takeText('intervalSeconds')
    const secs = Math.round(Number(interval?.value ?? 10))
    const isChecked = /^(tcp|http)$/.test(type?.value ?? '')
    const isUsable = secs >= 1 && secs <= 3600
    const field = 'health_check_interval_secs'
    note(type, field, type?.value === 'tcp' ? null : 'health_check')
    note(interval, field, isUsable ? null : 'health_check')
    if (check) addNotes({ notes }, check.noteAll(['timeoutSeconds', 'maxFailed', 'path'], 'health_check'))
    check?.finish()
    return {
      healthCheckSecs: isChecked ? (isUsable ? secs : secs > 3600 ? 3600 : 10) : null,
      proxyOut: header?.value === 'v1' ? 1 : header?.value === 'v2' ? 2 : null,
      bitsPerSec: isGrouped ? null : bits
    }
  }

  /** Makes the drafts of a proxy: one for each range of ports and each TLS name. */
  #place(proxy: Proxy): void {
    const places = this.#placesOf(proxy)
    const problem = problemOf(proxy)
    if (typeof places === 'string' || problem !== null) {
      const reason = problem ?? (typeof places === 'string' ? places : 'port')
      const draft = this.#open(proxy, { from: 1, to: 1 }, null)
      if (proxy.localPort)
        draft.notes.push({ statement: proxy.localPort.statement, field: 'targets', reason: null })
      this.#conversion.refuseRule(draft, reason)
      return
    }
    const domains = proxy.protocol === 'https' ? proxy.domains : [null]
    for (const place of places) for (const domain of domains) this.#placeOne(proxy, place, domain)
  }

  /** Returns the ports, or why there are none. */
  #placesOf({
    side,
    statement,
    name: _,
    group,
    host,
    domains,
    remotePort,
    localPort
  }: Proxy): Iterable<Place> | Reason {
    const local = localPort?.value ?? ''
    const isList = /[-,]/.test(remotePort) && !remotePort.includes('{{')
    if (isList) {
      const spans = pairRanges(local, remotePort)
      return spans === null || group !== null ? 'port' : spans.map(span => spanPlace(span, 'first', 'second'))
    }
    const id = rangeIn([remotePort, local, host, ...domains])
    if (id === null) return [placeOf(remotePort, local, text => text)]
    const range = side.ranges[id]
    if (!range) return 'variable'
    const remoteSide = wholeMarker(remotePort)
    const localSide = wholeMarker(local)
    if (group === null && remoteSide !== null && localSide !== null && rangeIn([host, ...domains]) === null)
      return range.spans.map(span => spanPlace(span, localSide, remoteSide))
    return this.#eachNumber(range, remotePort, local, statement)
  }

  *#eachNumber(
    range: NumberRange,
    remotePort: string,
    local: string,
    statement: Statement
  ): Generator<Place> {
    for (const { first, second, index, size } of range.spans)
      for (let at = 0; at < size; at += 1) {
        this.#conversion.spend(addressSteps, statement)
        const values = { first: first + at, second: second + at, index: index + at }
        const replace = (text: string): string =>
          text.replaceAll(marker, (_, __, name: keyof typeof values) => String(values[name]))
        yield placeOf(replace(remotePort), replace(local), replace)
      }
  }

  #placeOne(proxy: Proxy, place: Place, domain: string | null): void {
    const { side, statement, localPort, notes, settings, protocol } = proxy
    this.#conversion.spend(notes.length + addressSteps * (side.server.allowed?.length ?? 1), statement)
    const name = domain === null ? null : place.replace(domain)
    const draft = this.#open(proxy, place.listen, name)
    draft.name = place.replace(proxy.name).replaceAll(marker, '').replaceAll(unknownValue, '')
    const target = {
      host: place.replace(proxy.host),
      port: place.port,
      kind: place.kind,
      priority: 0,
      weight: 1,
      via: [side.exit],
      statement: localPort?.statement ?? statement,
      reason: null
    }
    const { from, to } = place.listen
    const isListed =
      protocol === 'https' ||
      (side.server.allowed?.some(ports => ports.from <= from && to <= ports.to) ?? true)
    const problem =
      from < 1 || to > 65_535 || !isListed
        ? 'port'
        : name !== null && !setName(draft, name)
          ? 'tls_name'
          : null
    if (problem !== null) {
      draft.targets.push(target)
      this.#conversion.refuseRule(draft, problem)
      return
    }
    const key =
      proxy.group === null ? null : `${side.server.client} ${protocol} ${from} ${name} ${proxy.group}`
    const first = key === null ? undefined : this.#groups.get(key)
    if (first && first.proxyOut !== settings.proxyOut) {
      draft.targets.push(target)
      this.#conversion.refuseRule(draft, 'proxy_header')
      return
    }
    if (!first) this.#drafts.push(draft)
    if (key !== null && !first) this.#groups.set(key, draft)
    if (first) addNotes(first, notes)
    if (first && first.healthCheckSecs !== settings.healthCheckSecs)
      first.notes.push({ statement, field: 'health_check_interval_secs', reason: 'health_check' })
    const owner = first ?? draft
    owner.targets.push(target)
  }

  #open(
    { side, statement, protocol, notes, settings, group }: Proxy,
    listen: Ports,
    name: string | null
  ): RuleDraft {
    const draft = openDraft({
      client: side.server.client,
      statement,
      listen,
      listenHost: side.server.listenHost,
      protocol: protocol === 'udp' ? 'udp' : 'tcp'
    })
    const { healthCheckSecs, proxyOut, bitsPerSec } = settings
    draft.healthCheckSecs = healthCheckSecs
    draft.proxyOut = proxyOut
    if (group !== null) draft.balance = 'round_robin'
    if (bitsPerSec !== null) {
      draft.rateLimit['bandwidth_in_bps'] = bitsPerSec
      draft.rateLimit['bandwidth_out_bps'] = bitsPerSec
    }
    draft.sniPattern = name
    addNotes(draft, notes)
    return draft
  }
}

/** Parses JSON, YAML, TOML, and the INI files of old versions, which have a section [common]. */
function parseAny(file: SourceFile): TableNode {
  const end = extname(file.name).toLowerCase()
  if (end === '.ini' || /^[ \t]*\[common\]/m.test(file.text)) return parseLegacy(file)
  const first = file.text.split('\n').find(line => /^\s*[^\s#]/.test(line)) ?? ''
  const isYaml = /^\.ya?ml$/.test(end) || /^\s*(-\s|---|["\w-]{1,100}\s*:(\s|$))/.test(first)
  return canonicalKeys(parseStructured(file, isYaml ? 'yaml' : 'toml'))
}

const serverKeys = [
  'bindPort',
  'bindAddr',
  'proxyBindAddr',
  'kcpBindPort',
  'quicBindPort',
  'vhostHTTPPort',
  'vhostHTTPSPort',
  'subDomainHost',
  'allowPorts',
  'httpPlugins',
  'maxPortsPerClient'
]

function isServer({ name }: SourceFile, { entries }: TableNode): boolean {
  if (['proxies', 'visitors', 'serverAddr', 'serverPort', 'user'].some(key => entries.has(key))) return false
  return serverKeys.some(key => entries.has(key)) || /frps[^/\\]*$/.test(name)
}

/** Judges the keys that frps and frpc share. */
function finishRoot(root: TableReader): void {
  root.ignore('common', 'structure')
  for (const key of ['auth', 'metadatas']) root.hide(key)
  for (const key of ['transport', 'udpPacketSize'])
    root.ignore(key, key === 'transport' ? 'transport' : 'tuning')
  for (const key of ['log', 'enablePrometheus']) root.ignore(key, 'logging')
  root.ignore('webServer', 'process')
  root.finish()
}

function refuseAll(table: TableReader, reason: Reason, { verdicts }: Conversion): void {
  verdicts.refuse(table.statement, reason)
  table.finish(reason)
}

/** A range of an INI file starts as `name_0`, `name_1`, and so on. */
const isNamedIn = (names: ReadonlySet<string>, name: string): boolean =>
  names.has(name) || names.has(`${name}_0`)

function problemOfType(type: string): Reason | null {
  if (/^(tcp|udp|https)$/.test(type)) return null
  if (type === 'http') return 'http_routing'
  if (type === 'tcpmux') return 'http_connect'
  return /^(stcp|sudp|xtcp)$/.test(type) ? 'visitor' : 'protocol'
}

/** Returns why a proxy cannot become a rule, or null. */
function problemOf({ side, protocol, host, localPort, remotePort, domains }: Proxy): Reason | null {
  const { server } = side
  if (server.isFiltered) return 'plugin' // the plugin may refuse callers
  const texts = [host, localPort?.value ?? '', remotePort, ...domains]
  if (domains.includes(noParent)) return 'other_side'
  if (texts.some(text => text.includes(unknownValue))) return 'variable'
  return protocol === 'https' && domains.length === 0 ? 'tls_name' : null
}

/** Stands for a subdomain of a domain that is not known. */
const noParent = '{{subdomain}}'

const marker = /\{\{range (\d+) (first|second|index)\}\}/g

/** Returns the number of the range with the values of the texts, or null. */
function rangeIn(texts: readonly string[]): number | null {
  const [, id] = /\{\{range (\d+) \w+\}\}/.exec(texts.join(' ')) ?? []
  return id === undefined ? null : Number(id)
}

/** Returns the list of a range that the whole text is an element of, or null. */
function wholeMarker(text: string): 'first' | 'second' | null {
  const [, list] = /^\{\{range \d+ (first|second)\}\}$/.exec(text) ?? []
  return list === 'first' || list === 'second' ? list : null
}

/** Places consecutive ports: `local` and `remote` name the lists that the ports come from. */
function spanPlace(span: Span, local: 'first' | 'second', remote: 'first' | 'second'): Place {
  const from = span[remote]
  return {
    listen: { from, to: from + span.size - 1 },
    port: span[local] - from,
    kind: 'shifted',
    replace: text => text
  }
}

function placeOf(remotePort: string, local: string, replace: Place['replace']): Place {
  const port = onePort(remotePort)
  return { listen: { from: port, to: port }, port: onePort(local), kind: 'fixed', replace }
}

/** Returns the port, or 0 for other text. */
function onePort(text: string): number {
  const ports = parsePorts(text)
  return ports && ports.from === ports.to ? ports.from : 0
}

/** Sets the TLS name. `*` takes all connections. Returns false for a text that is no name. */
function setName(draft: RuleDraft, name: string): boolean {
  draft.sniPattern = name === '*' ? null : parseSniPattern(name)
  draft.isSniFallback = name === '*'
  return draft.sniPattern !== null || draft.isSniFallback
}

/** A wildcard of frp matches names of any depth. */
const depthOf = (names: readonly string[]): Reason | null =>
  names.some(name => name.startsWith('*.')) ? 'sni_depth' : null

/** Returns bits per second for `1MB` or `500KB`; null for other text and 0. */
function parseBandwidth(text: string): number | null {
  const [, digits = '', unit] = /^\s*(\d{1,9}(?:\.\d{1,9})?)\s*(MB|KB)\s*$/i.exec(text) ?? []
  const bits = Math.round(Number(digits) * (unit?.toUpperCase() === 'MB' ? 1024 ** 2 : 1024) * 8)
  return unit !== undefined && bits > 0 ? bits : null
}

/** Sorts ports and joins those that touch. */
function joinPorts(ports: readonly Ports[]): Ports[] {
  const joined: Ports[] = []
  for (const range of [...ports].sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last && range.from <= last.to + 1)
      joined.splice(-1, 1, { from: last.from, to: Math.max(last.to, range.to) })
    else joined.push(range)
  }
  return joined
}
