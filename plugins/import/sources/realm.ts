// realm: endpoints of a TOML or JSON file.
import { isAnyAddress, parsePorts, splitHostPort } from '../address.ts'
import type { Conversion } from '../conversion.ts'
import { addNotes, anySource, type Note, openDraft, type RuleDraft } from '../rule-draft.ts'
import type { SourceFile } from '../source-file.ts'
import { parseStructured } from '../structured-file.ts'
import { TableReader, type Taken } from '../table-reader.ts'

const timeouts = ['tcp_timeout', 'udp_timeout', 'accept_proxy_timeout']
const tuning = [
  'zero_copy',
  'fast_open',
  'tcp_keepalive',
  'tcp_keepalive_probe',
  'send_mptcp',
  'accept_mptcp'
]
const switches = [
  'no_tcp',
  'use_udp',
  'send_proxy',
  'send_proxy_version',
  'accept_proxy',
  'ipv6_only'
] as const

type Switches = Partial<Record<(typeof switches)[number], Taken>>

export function convertRealm(files: readonly SourceFile[], conversion: Conversion): void {
  for (const file of files) {
    const root = new TableReader(parseStructured(file, 'toml'), file.name, conversion)
    root.ignore('log', 'logging')
    root.ignore('dns', 'resolver')
    const network = root.takeTable('network')
    const common = network ? readSwitches(network) : {}
    const notes = network?.noteAll(timeouts, 'timeout') ?? []
    for (const { statement } of notes) conversion.verdicts.approximate(statement, 'timeout', null)
    for (const key of tuning) network?.ignore(key, 'tuning')
    if (network) conversion.verdicts.map(network.statement, null)
    for (const taken of Object.values(common)) conversion.verdicts.map(taken.statement, null)
    network?.finish()
    for (const endpoint of root.takeTables('endpoints')) addEndpoint(endpoint, common, file, conversion)
    root.finish()
  }
}

const readSwitches = (table: TableReader): Switches =>
  Object.fromEntries(
    switches.flatMap(key => {
      const taken = table.take(key)
      return taken ? [[key, taken]] : []
    })
  )

function addEndpoint(
  endpoint: TableReader,
  common: Switches,
  file: SourceFile,
  conversion: Conversion
): void {
  const { verdicts } = conversion
  const network = endpoint.takeTable('network')
  const own = network ? readSwitches(network) : {}
  const given = { ...common, ...readSwitches(endpoint), ...own }
  const listenInterface = endpoint.takeText('listen_interface')
  const notes: Note[] = [
    ...endpoint.noteAll(timeouts, 'timeout'),
    ...(network?.noteAll(timeouts, 'timeout') ?? []),
    ...endpoint.noteAll(['through', 'interface'], 'dial_from'),
    ...(listenInterface
      ? [{ statement: listenInterface.statement, field: '', reason: 'listen_address' as const }]
      : [])
  ]
  for (const key of tuning) {
    endpoint.ignore(key, 'tuning')
    network?.ignore(key, 'tuning')
  }
  if (network) notes.push({ statement: network.statement, field: '', reason: null })
  network?.finish()
  const listen = endpoint.takeText('listen') ?? endpoint.takeText('local')
  const { host: address = '', ports = null } = listen ? splitHostPort(listen.value) : {}
  const host = listenInterface?.value === 'lo' ? '127.0.0.1' : address
  const range = ports === null ? null : parsePorts(ports)
  const transports = ['listen_transport', 'remote_transport'].filter(key => endpoint.has(key))
  const hasTransport = transports.length > 0
  for (const key of transports) endpoint.refuse(key, 'transport')
  const isTcp = given.no_tcp?.value !== true
  const isUdp = given.use_udp?.value === true
  const remotes = readRemotes(endpoint)
  const balance = endpoint.takeText('balance')
  endpoint.finish()

  for (const protocol of [...(isTcp ? (['tcp'] as const) : []), ...(isUdp ? (['udp'] as const) : [])]) {
    const draft = openDraft({
      client: file.client,
      statement: endpoint.statement,
      listen: range ?? { from: 1, to: 1 },
      listenHost: host,
      protocol
    })
    addNotes(draft, notes)
    if (listen)
      draft.notes.push({
        statement: listen.statement,
        field: 'listen_port',
        reason: isAnyAddress(host) ? null : 'listen_address'
      })
    addSwitches(draft, given)
    addRemotes(draft, remotes, balance, conversion)
    if (hasTransport) conversion.refuseRule(draft, 'transport')
    else if (range === null) conversion.refuseRule(draft, 'port')
    else conversion.addRule(draft)
  }
  if (!isTcp && !isUdp) verdicts.refuse(endpoint.statement, 'protocol')
}

function addSwitches(
  draft: RuleDraft,
  { no_tcp, use_udp, ipv6_only, send_proxy, send_proxy_version, accept_proxy }: Switches
): void {
  const isTcp = draft.protocol === 'tcp'
  const note = (taken: Taken | undefined, field: string, reason: Note['reason'] = null): void => {
    if (taken) draft.notes.push({ statement: taken.statement, field, reason })
  }
  note(no_tcp, 'protocol')
  note(use_udp, 'protocol')
  note(ipv6_only, '', ipv6_only?.value === true ? 'listen_address' : null)
  note(send_proxy, 'proxy_out')
  note(send_proxy_version, 'proxy_out')
  note(accept_proxy, 'proxy_in')
  if (isTcp && send_proxy?.value === true) draft.proxyOut = send_proxy_version?.value === 1 ? 1 : 2
  if (isTcp && accept_proxy?.value === true) draft.proxyIn = anySource
}

interface Remotes {
  readonly list: readonly { readonly text: string; readonly statement: Note['statement'] }[]
}

function readRemotes(endpoint: TableReader): Remotes {
  const remote = endpoint.takeText('remote')
  const extra = endpoint.take('extra_remotes')
  const others = Array.isArray(extra?.value) ? extra.value : []
  return {
    list: [
      ...(remote ? [{ text: remote.value, statement: remote.statement }] : []),
      ...(extra ? others.map(text => ({ text: String(text), statement: extra.statement })) : [])
    ]
  }
}

/** Without `balance`, realm dials only `remote`. `roundrobin: 4, 2, 1` has a weight for each remote. */
function addRemotes(
  draft: RuleDraft,
  { list }: Remotes,
  balance: ReturnType<TableReader['takeText']>,
  conversion: Conversion
): void {
  const [algorithm = 'off', given = ''] = (balance?.value ?? 'off')
    .toLowerCase()
    .split(':')
    .map(part => part.trim())
  const weights = given.split(',').map(text => Number(text.trim() || 1))
  const isKnown = algorithm === 'roundrobin' || algorithm === 'iphash'
  if (isKnown) draft.balance = algorithm === 'iphash' ? 'source_hash' : 'round_robin'
  if (balance)
    draft.notes.push({
      statement: balance.statement,
      field: 'balance',
      reason: isKnown || algorithm === 'off' ? null : 'balance'
    })
  for (const [at, { text, statement }] of list.entries()) {
    const { host, ports } = splitHostPort(text)
    const range = ports === null ? null : parsePorts(ports)
    const weight = weights[at] ?? 1
    const isUsed = isKnown || at === 0
    if (!isUsed) conversion.verdicts.ignore(statement, 'not_used')
    else
      draft.targets.push({
        host: range === null ? '' : host,
        port: range?.from ?? 0,
        kind: 'fixed',
        priority: 0,
        weight: Number.isSafeInteger(weight) && weight >= 0 ? weight : 1,
        statement,
        reason: null
      })
  }
}
