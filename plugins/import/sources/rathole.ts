// rathole: services of server and client, which may be in one file or in several, become rules with `via` the client.
import { isAnyAddress, parsePorts, splitHostPort } from '../address.ts'
import { ClientNames } from '../client-name.ts'
import type { Conversion } from '../conversion.ts'
import type { Reason } from '../reasons.ts'
import type { Statement } from '../report.ts'
import { type Note, openDraft } from '../rule-draft.ts'
import type { SourceFile } from '../source-file.ts'
import { parseStructured } from '../structured-file.ts'
import { TableReader } from '../table-reader.ts'

/** One end of a service. */
interface End {
  readonly statement: Statement
  readonly type: string
  readonly address: { readonly value: string; readonly statement: Statement } | null
  readonly preferIpv6: boolean
  readonly notes: readonly Note[]
}

interface Server {
  readonly client: string
  readonly services: ReadonlyMap<string, End>
  readonly served: Set<string> // services that a client has
}

/** Each client belongs to the server before it, or else to the first one. */
export function convertRathole(files: readonly SourceFile[], conversion: Conversion): void {
  const names = new ClientNames()
  const parsed = files.map(file => {
    const root = new TableReader(parseStructured(file, 'toml'), file.name, conversion)
    const server = root.takeTable('server')
    const client = root.takeTable('client')
    root.finish()
    return {
      file,
      client,
      hasServer: server !== null,
      server: server ? openServer(server, names.take(file.client), conversion) : null
    }
  })
  let server = parsed.find(one => one.server !== null)?.server ?? null
  for (const one of parsed) {
    server = one.server ?? server
    if (one.client) {
      const exit = names.take(one.hasServer ? `${one.file.client}-client` : one.file.client)
      addClient(readServices(one.client, 'local_addr', conversion), exit, server, conversion)
    }
  }
  const hasClient = parsed.some(({ client }) => client !== null)
  for (const one of parsed)
    for (const [name, end] of one.server?.services ?? [])
      if (one.server?.served.has(name) === false)
        refuse([end], hasClient ? 'no_target' : 'other_side', conversion)
}

const openServer = (table: TableReader, client: string, conversion: Conversion): Server => ({
  client,
  services: readServices(table, 'bind_addr', conversion),
  served: new Set()
})

/** Reads the services of one side, and judges what is about the way between the sides. */
function readServices(
  side: TableReader,
  addressKey: 'bind_addr' | 'local_addr',
  conversion: Conversion
): ReadonlyMap<string, End> {
  conversion.verdicts.ignore(side.statement, 'structure')
  for (const key of [
    'bind_addr',
    'remote_addr',
    'transport',
    'heartbeat_interval',
    'heartbeat_timeout',
    'retry_interval'
  ])
    side.ignore(key, 'transport')
  const services = side.takeTable('services')
  if (services) conversion.verdicts.ignore(services.statement, 'structure')
  const ends = new Map<string, End>()
  for (const [name, table] of services?.takeNamedTables() ?? []) ends.set(name, readEnd(table, addressKey))
  services?.finish()
  side.finish()
  return ends
}

function readEnd(table: TableReader, addressKey: 'bind_addr' | 'local_addr'): End {
  const type = table.takeText('type')
  const address = table.takeText(addressKey)
  const preferIpv6 = table.takeText('prefer_ipv6')
  for (const key of ['nodelay', 'retry_interval'])
    table.ignore(key, key === 'nodelay' ? 'tuning' : 'transport')
  const notes: Note[] = [
    { statement: table.statement, field: '', reason: null },
    ...(preferIpv6 ? [{ statement: preferIpv6.statement, field: 'prefer_ipv6', reason: null }] : []),
    ...(type ? [{ statement: type.statement, field: '', reason: null }] : [])
  ]
  table.finish()
  return {
    statement: address?.statement ?? table.statement,
    type: type?.value ?? 'tcp',
    address,
    preferIpv6: preferIpv6?.value === 'true',
    notes
  }
}

function addClient(
  services: ReadonlyMap<string, End>,
  exit: string,
  server: Server | null,
  conversion: Conversion
): void {
  for (const [name, local] of services) {
    const bound = server?.services.get(name)
    if (!server || !bound) refuse([local], 'other_side', conversion)
    else if (server.served.has(name)) refuse([local], 'listen_conflict', conversion)
    else {
      server.served.add(name)
      addService(name, { bound, local }, { client: server.client, exit }, conversion)
    }
  }
}

function addService(
  name: string,
  { bound, local }: { readonly bound: End; readonly local: End },
  { client, exit }: { readonly client: string; readonly exit: string },
  conversion: Conversion
): void {
  if (bound.type !== local.type || !/^(tcp|udp)$/.test(bound.type)) {
    refuse([bound, local], 'protocol', conversion)
    return
  }
  const { host, ports } = splitHostPort(bound.address?.value ?? '')
  const range = ports === null ? null : parsePorts(ports)
  const target = splitHostPort(local.address?.value ?? '')
  const targetPorts = target.ports === null ? null : parsePorts(target.ports)
  if (range === null || targetPorts === null || range.to > range.from || targetPorts.to > targetPorts.from) {
    refuse([bound, local], 'port', conversion)
    return
  }
  const draft = openDraft({
    client,
    statement: bound.notes[0]?.statement ?? bound.statement,
    listen: { from: range.from, to: range.from },
    listenHost: host,
    protocol: bound.type === 'udp' ? 'udp' : 'tcp'
  })
  draft.name = name
  draft.preferIpv6 = local.preferIpv6
  draft.notes.push(...bound.notes, ...local.notes, {
    statement: bound.statement,
    field: 'listen_port',
    reason: isAnyAddress(host) ? null : 'listen_address'
  })
  draft.targets.push({
    host: target.host,
    port: targetPorts.from,
    kind: 'fixed',
    priority: 0,
    weight: 1,
    via: [exit],
    statement: local.statement,
    reason: null
  })
  conversion.addRule(draft)
}

function refuse(ends: readonly End[], reason: Reason, { verdicts }: Conversion): void {
  for (const { statement, notes } of ends) {
    verdicts.refuse(statement, reason)
    for (const note of notes) verdicts.refuse(note.statement, reason)
  }
}
