// Forwarding chains of gost: each hop is a client on the path of a rule, named after its node.
import { splitHostPort } from './address.ts'
import { ClientNames, toClientName } from './client-name.ts'
import type { Conversion } from './conversion.ts'
import type { Reason } from './reasons.ts'
import type { Statement } from './report.ts'
import type { RuleDraft } from './rule-draft.ts'
import type { SourceFile } from './source-file.ts'
import type { TableReader } from './table-reader.ts'

const maxPaths = 8 // a rule has at most 8 targets
const maxPathLength = 3

/** An object of a file that others name. */
export interface NamedTable {
  readonly table: TableReader
  readonly statements: readonly Statement[]
}

interface Part {
  readonly statement: Statement
  readonly reason: Reason | null
}

interface Hop {
  readonly clients: readonly string[] // alternatives
  readonly isOrdered: boolean // the first one that works is used
}

interface Chain {
  readonly hops: readonly Hop[]
  readonly parts: readonly Part[]
  readonly problem: Reason | null
}

/** Names the clients of nodes, for all files of an import. */
export class GostNodes {
  readonly #clients: ReadonlySet<string>
  readonly #names = new ClientNames()
  readonly #known = new Map<string, string>()

  constructor(files: readonly SourceFile[]) {
    this.#clients = new Set(files.map(({ client }) => client))
    for (const client of this.#clients) this.#names.take(client)
  }

  /** Returns the client of a node. A node that is named like another file is the client of that file. */
  clientOf(name: string, address: string, { client }: SourceFile): string {
    const host = splitHostPort(address).host || 'exit'
    const wanted = name === '' ? host : name
    const own = toClientName(wanted)
    if (own !== client && this.#clients.has(own)) return own
    const key = JSON.stringify(name === '' ? [host] : [own, address])
    const taken = this.#known.get(key) ?? this.#names.take(wanted)
    this.#known.set(key, taken)
    return taken
  }
}

/** Proxies that dial the address that they are asked for. */
const dialers = /^(http|http2|socks|socks4|socks4a|socks5|relay|ss|ssu|ssh|sshd)$/
/** Transports, which stand for an HTTP proxy if a URL names no other one. */
const transports =
  /^(tcp|mtcp|tls|mtls|ws|mws|wss|mwss|kcp|quic|h2|h2c|h3|grpc|dtls|obfs-http|obfs-tls|otls|ohttp|https)$/
const conditions = ['bypass', 'bypasses', 'filter', 'matcher', 'host', 'path', 'protocol', 'http', 'plugin']

/** The chains and hops of one file. */
export class GostChains {
  readonly #chains: ReadonlyMap<string, NamedTable>
  readonly #hops: ReadonlyMap<string, NamedTable>
  readonly #nodes: GostNodes
  readonly #file: SourceFile
  readonly #conversion: Conversion
  readonly #read = new Map<string, Chain>()
  readonly #used = new Set<NamedTable>()

  constructor(
    {
      chains,
      hops
    }: { readonly chains: ReadonlyMap<string, NamedTable>; readonly hops: ReadonlyMap<string, NamedTable> },
    { nodes, file, conversion }: { nodes: GostNodes; file: SourceFile; conversion: Conversion }
  ) {
    this.#chains = chains
    this.#hops = hops
    this.#nodes = nodes
    this.#file = file
    this.#conversion = conversion
  }

  /** Returns a hop with targets as nodes; null if it is missing, or was taken before. */
  takeHop(name: string): NamedTable | null {
    const found = this.#hops.get(name)
    if (!found || this.#used.has(found)) return null
    this.#used.add(found)
    return found
  }

  find(name: string): Chain {
    const known = this.#read.get(name)
    if (known) return known
    const found = this.#chains.get(name)
    const chain = found ? this.#readChain(found) : { hops: [], parts: [], problem: 'chain' as const }
    this.#read.set(name, chain)
    return chain
  }

  /** Reads the values of `-F`, or of `ChainNodes`: `relay+tls://10.0.0.1:443,10.0.0.2:443?strategy=fifo`. */
  readUrls(urls: readonly { readonly url: string; readonly statement: Statement }[]): Chain {
    const parts: Part[] = []
    let problem: Reason | null = null
    const hops = urls.map(({ url, statement }) => {
      const [, scheme = 'http', list = '', query = ''] =
        /^(?:([\w+.-]+):\/\/)?(?:[^/?]*@)?([^/?]*)[^?]*(?:\?(.*))?$/s.exec(url) ?? []
      const [protocol = ''] = scheme.toLowerCase().split('+')
      const parameters = new URLSearchParams(query)
      const strategy = parameters.get('strategy') ?? 'round'
      const addresses = [...list.split(','), ...(parameters.get('ip') ?? '').split(',')]
      if (!dialers.test(protocol) && !transports.test(protocol)) problem ??= 'chain'
      if (parameters.has('bypass')) problem ??= 'chain'
      parts.push({ statement, reason: strategy.startsWith('rand') ? 'balance' : null })
      const given = addresses.filter(text => text !== '')
      const clients = given.map(address => this.#nodes.clientOf('', address, this.#file))
      return { clients: [...new Set(clients)], isOrdered: strategy === 'fifo' }
    })
    return { hops, parts, problem: problem ?? problemOf(hops) }
  }

  /** Judges chains and hops that no service names. */
  finish(): void {
    for (const found of [...this.#chains.values(), ...this.#hops.values()]) {
      if (this.#used.has(found)) continue
      for (const statement of found.statements) this.#conversion.verdicts.ignore(statement, 'not_used')
      found.table.ignoreRest('not_used')
    }
  }

  #readChain(found: NamedTable): Chain {
    this.#used.add(found)
    const { table, statements } = found
    const parts = statements.map(statement => ({ statement, reason: null as Reason | null }))
    let problem: Reason | null = null
    const hops = table.takeTables('hops').map(one => {
      const hop = this.#readHop(one, parts)
      problem ??= hop.problem
      return hop
    })
    readSelector(table, parts)
    table.finish()
    return { hops, parts, problem: problem ?? problemOf(hops) }
  }

  #readHop(given: TableReader, parts: Part[]): Hop & { readonly problem: Reason | null } {
    const name = given.takeText('name')
    for (const statement of [given.statement, ...(name ? [name.statement] : [])])
      parts.push({ statement, reason: null })
    const shared = given.has('nodes') || !name ? null : this.takeHop(name.value)
    for (const statement of shared?.statements ?? []) parts.push({ statement, reason: null })
    const table = shared?.table ?? given
    let problem = this.#refuseConditions(table)
    const isOrdered = readSelector(table, parts)
    const clients = table.takeTables('nodes').map(node => {
      const read = this.#readNode(node, parts)
      problem ??= read.problem
      return read.client
    })
    for (const key of ['interface', 'sockopts', 'netns']) table.ignore(key, 'transport')
    for (const key of ['resolver', 'hosts']) table.ignore(key, 'resolver')
    for (const one of [table, given]) one.finish()
    return { clients, isOrdered, problem }
  }

  /** Refuses conditions that decide about a hop or a node by the target. */
  #refuseConditions(table: TableReader): Reason | null {
    const found = [...conditions, 'file', 'redis', 'reload'].filter(key => table.has(key))
    for (const key of found) table.refuse(key, 'chain')
    return found.length > 0 ? 'chain' : null
  }

  #readNode(node: TableReader, parts: Part[]): { readonly client: string; readonly problem: Reason | null } {
    const { verdicts } = this.#conversion
    const name = node.takeText('name')
    const addr = node.takeText('addr')
    for (const statement of [node.statement, name?.statement, addr?.statement])
      if (statement) parts.push({ statement, reason: null })
    const connector = node.takeTable('connector')
    const type = connector?.takeText('type')
    const isDialer = dialers.test(type?.value ?? 'http')
    if (type && isDialer) verdicts.ignore(type.statement, 'transport')
    else if (type) verdicts.refuse(type.statement, 'chain')
    connector?.ignoreRest('transport')
    node.takeTable('dialer')?.ignoreRest('transport')
    for (const key of ['interface', 'sockopts', 'netns', 'url', 'metadata', 'tls'])
      node.ignore(key, 'transport')
    for (const key of ['resolver', 'hosts']) node.ignore(key, 'resolver')
    const problem = this.#refuseConditions(node)
    node.finish()
    return {
      client: this.#nodes.clientOf(name?.value ?? '', addr?.value ?? '', this.#file),
      problem: isDialer ? problem : 'chain'
    }
  }
}

/** Reads the selector of a hop, a chain or a forwarder of early versions. Returns true if the order of nodes counts. */
function readSelector(table: TableReader, parts: Part[]): boolean {
  const selector = table.takeTable('selector') ?? table.takeTable('lb')
  const strategy = selector?.takeText('strategy')
  if (selector) parts.push({ statement: selector.statement, reason: null })
  if (strategy)
    parts.push({
      statement: strategy.statement,
      reason: /^(round|fifo)$/.test(strategy.value) ? null : 'balance'
    })
  for (const { statement } of selector?.noteAll(['maxFails', 'failTimeout'], 'failover') ?? [])
    parts.push({ statement, reason: 'failover' })
  selector?.finish()
  return strategy?.value === 'fifo'
}

function problemOf(hops: readonly Hop[]): Reason | null {
  const paths = hops.reduce((product, { clients }) => product * clients.length, 1)
  if (hops.length === 0 || paths === 0) return 'chain'
  return paths > maxPaths || hops.length > maxPathLength ? 'limit' : null
}

/** Returns the paths through a chain, in the order of its first hop. */
const pathsOf = (hops: readonly Hop[]): readonly (readonly string[])[] =>
  hops.reduce<readonly (readonly string[])[]>(
    (paths, { clients }) => paths.flatMap(path => clients.map(client => [...path, client])),
    [[]]
  )

/** Where a service listens, and through which clients it dials its targets. */
export interface GostWay {
  readonly client: string
  readonly problem: Reason | null
  readonly paths: readonly (readonly string[])[]
  readonly isOrdered: boolean
  readonly parts: readonly Part[]
}

/**
 * Returns the way of a service. `opened` is the chain with the node that opens the port, of remote forwarding, and `dialed` the one
 * to the targets.
 */
export function wayOf(client: string, opened: Chain | null, dialed: Chain | null): GostWay {
  const isChoice = opened?.hops.some(({ clients }) => clients.length > 1) === true
  const nodes = opened?.hops.map(({ clients }) => clients[0] ?? '') ?? []
  const back = opened ? [...nodes.slice(0, -1).reverse(), client] : []
  const problem = opened?.problem ?? dialed?.problem ?? (isChoice ? 'chain' : null)
  const paths = (problem === null ? pathsOf(dialed?.hops ?? []) : [[]]).map(path => [...back, ...path])
  const isLong = paths.some(path => path.length > maxPathLength)
  const isLoop = paths.some(path => new Set([...path, nodes.at(-1) ?? client]).size <= path.length)
  return {
    client: nodes.at(-1) ?? client,
    problem: problem ?? (isLong ? 'limit' : isLoop ? 'chain' : null),
    paths,
    isOrdered: dialed?.hops.some(hop => hop.isOrdered) === true,
    parts: [...(opened?.parts ?? []), ...(dialed?.parts ?? [])]
  }
}

/** Gives each target of a draft the paths of its way: one target for each path. */
export function followWay(draft: RuleDraft, { paths, isOrdered, parts }: GostWay): void {
  const field = paths.length > 1 ? 'targets' : 'via'
  for (const part of parts) draft.notes.push({ ...part, field })
  const targets = draft.targets.splice(0)
  const step = Math.max(0, ...targets.map(({ priority }) => priority)) + 1
  for (const [at, via] of paths.entries())
    for (const target of targets)
      draft.targets.push({
        ...target,
        priority: target.priority + (isOrdered ? at * step : 0),
        ...(via.length > 0 && { via })
      })
}
