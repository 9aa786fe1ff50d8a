import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'
import { isId } from '../../kernel/platform/id.ts'
import { checkSlot, defineCheck } from '../cli/check-exports.ts'
import { ClientArg, clientNames, findClient, findClientId } from '../clients/command-exports.ts'
import { addedArgs, addedColumns, addedQuery, listOptionSlots } from '../http/command-exports.ts'
import { documentClientsSlot, pushOptionsSlot } from '../rules/command-exports.ts'
import { endpointsKind, linksKind } from './document-kinds.ts'
import type { FindingId } from './judge-links.ts'
import type { LinkRecord } from './schema.ts'

const columns = ['link_id', 'entry', 'exit', 'state', 'state_reason', 'rtt_ms', 'loss_percent', 'rules']

const LinkArg = Type.String({ description: 'A link_id, or ENTRY/EXIT: the ids or names of its clients.' })

/** Returns the row for a table: the two clients by name, and one round trip. */
const flat = ({ clients: [near, far], rtt_ms, ...row }: LinkRecord) => ({
  ...row,
  entry: near?.client_name,
  exit: far?.client_name,
  rtt_ms: rtt_ms?.p50 ?? null
})

/** Returns the id of the link. A name may contain a slash, so each slash is tried. */
async function findLinkId(api: Api, link: string): Promise<string> {
  if (isId(link)) return link
  if (!link.includes('/')) throw new Fault(wrongUsage, `LINK must be a link_id or ENTRY/EXIT, got ${link}`)
  const isNamed = (client: LinkRecord['clients'][number] | undefined, text: string): boolean =>
    client?.client_id === text || client?.client_name === text
  const rows = await api.list<LinkRecord>('/v1/links')
  const found = rows.filter(({ clients: [near, far] }) =>
    [...link.matchAll(/\//g)].some(
      ({ index }) => isNamed(near, link.slice(0, index)) && isNamed(far, link.slice(index + 1))
    )
  )
  const [only] = found
  if (!only) throw new Fault((await import('./codes.ts')).linkNotFound, `there is no link ${link}`)
  if (found.length === 1) return only.link_id
  throw new Fault(
    wrongUsage,
    `${found.length} links are ${link}; give one of ${found.map(row => row.link_id).join(', ')}`
  )
}

const list = defineCommand({
  name: 'link list',
  summary: 'List the links between clients.',
  args: Type.Object({
    client: Type.Optional(Type.String({ description: 'Only links of this client.', ...clientNames })),
    state: Type.Optional(
      Type.String({ description: 'Only links in this state: unused, connecting, up, degraded or down.' })
    )
  }),
  reads: [listOptionSlots.link],
  extraArgs: filled => addedArgs(filled(listOptionSlots.link)),
  async run({ api, args, filled, print }) {
    const { client, state } = args
    const more = filled(listOptionSlots.link)
    const query = new URLSearchParams({
      ...(client !== undefined && { client }),
      ...(state !== undefined && { state }),
      ...addedQuery(more, args)
    })
    const rows = await api.list<LinkRecord>(`/v1/links?${query}`)
    print.data(rows.map(flat), [...columns, ...addedColumns(more)])
  }
})

const show = defineCommand({
  name: 'link show',
  summary: 'Show one link.',
  args: Type.Object({ link: LinkArg }),
  positional: ['link'],
  async run({ api, args: { link }, print }) {
    print.data(await api.get<LinkRecord>(`/v1/links/${await findLinkId(api, link)}`))
  }
})

const set = defineCommand({
  name: 'link set',
  summary: 'Change the settings of a link.',
  examples: [
    'sluice link set paris/lyon --direction reverse',
    'sluice link set paris/lyon --host 10.0.0.7 10.0.1.7'
  ],
  args: Type.Object({
    link: LinkArg,
    direction: Type.Optional(Type.String({ description: 'auto, reverse or direct: which client dials.' })),
    host: Type.Optional(
      Type.Array(Type.String(), { description: 'Hosts to dial, instead of those of the endpoint.' })
    ),
    no_hosts: Type.Optional(Type.Boolean({ description: 'Dial the hosts of the endpoint again.' })),
    udp: Type.Optional(Type.String({ description: 'true or false: whether datagrams may use UDP.' })),
    note: Type.Optional(Type.String({ description: 'Free text.' })),
    label: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Labels to set: env=prod. env= sets it empty, env- removes it.'
      })
    )
  }),
  positional: ['link'],
  async run({ api, args, print }) {
    const { link, direction, host, no_hosts, udp, note, label } = args
    if (host && no_hosts) throw new Fault(wrongUsage, 'give either --host or --no-hosts')
    if (udp !== undefined && udp !== 'true' && udp !== 'false')
      throw new Fault(wrongUsage, `--udp must be true or false, got ${udp}`)
    const body = {
      ...(direction !== undefined && { direction }),
      ...(host && { hosts: host }),
      ...(no_hosts && { hosts: null }),
      ...(udp !== undefined && { udp: udp === 'true' }),
      ...(note !== undefined && { note }),
      ...(label && { labels: Object.fromEntries(label.map(parseLabel)) })
    }
    if (Object.keys(body).length === 0) throw new Fault(wrongUsage, 'give a setting to change')
    print.data(await api.send<LinkRecord>('PATCH', `/v1/links/${await findLinkId(api, link)}`, body))
  }
})

function parseLabel(text: string): [string, string | null] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  if (at < 0 && text.endsWith('-')) return [text.slice(0, -1), null]
  throw new Fault(wrongUsage, `--label must be KEY=VALUE or KEY-, got ${text}`)
}

const test = defineCommand({
  name: 'link test',
  summary: 'Measure a link.',
  args: Type.Object({
    link: LinkArg,
    size: Type.Optional(Type.Integer({ minimum: 0, description: 'Bytes in each direction; default 4 MiB.' })),
    secs: Type.Optional(Type.Integer({ minimum: 1, description: 'Longest duration; default 5.' }))
  }),
  positional: ['link'],
  async run({ api, args: { link, size, secs }, print }) {
    const body = { ...(size !== undefined && { bytes: size }), ...(secs !== undefined && { secs }) }
    print.data(await api.send<object>('POST', `/v1/links/${await findLinkId(api, link)}/test`, body))
  }
})

const setEndpoint = defineCommand({
  name: 'client set-link',
  summary: 'Set where a client listens for links, or let it listen no more.',
  examples: [
    'sluice client set-link paris --port 7444 --host paris.example.net',
    'sluice client set-link paris --off'
  ],
  args: Type.Object({
    client: ClientArg,
    port: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65_535, description: 'TCP and UDP port; default 7444.' })
    ),
    host: Type.Optional(
      Type.Array(Type.String(), { description: 'Hosts to dial. Default: the address of the client.' })
    ),
    off: Type.Optional(Type.Boolean({ description: 'The client never listens for links.' }))
  }),
  positional: ['client'],
  async run({ api, args: { client, port, host, off }, print }) {
    if (off && (port !== undefined || host))
      throw new Fault(wrongUsage, 'give either --off or --port and --host')
    const { client_id } = await findClient(api, client)
    const link = off ? null : { ...(port !== undefined && { port }), hosts: host ?? null }
    print.data(await api.send<object>('PATCH', `/v1/clients/${client_id}`, { link }))
  }
})

const rotateKey = defineCommand({
  name: 'client rotate-link-key',
  summary: 'Make the agent of a client generate a new link key.',
  args: Type.Object({ client: ClientArg }),
  positional: ['client'],
  async run({ api, args: { client }, print }) {
    const client_id = await findClientId(api, client)
    await api.send('POST', `/v1/clients/${client_id}/link-key/rotate`)
    print.done(`the agent of ${client} makes a new link key`, { client_id })
  }
})

/** --via of `rule push`, and `via` in the file of `apply`. */
const viaKey = 'via'

const pushOption = pushOptionsSlot.fill({
  args: {
    via: Type.Optional(
      Type.String({
        description: 'Names or ids of the clients on the path, in order: paris,lyon. The last one dials.',
        ...clientNames
      })
    )
  },
  body({ via }) {
    if (via === undefined) return {}
    const names = String(via).split(',')
    return { [viaKey]: names.map(name => name.trim()) }
  }
})

interface CarriedRow {
  readonly via?: readonly string[] | null
  readonly link_rtt_ms?: number | null
}

/** --via of the commands of connections, and their columns. */
const connectionOptions = listOptionSlots.connection.fill({
  args: {
    via: Type.Optional(Type.String({ description: 'Connections through this client.', ...clientNames }))
  },
  query: ({ via }) => (via === undefined ? {} : { [viaKey]: String(via) }),
  columns: [
    ['via', ({ via }: CarriedRow) => via?.join(' > ') ?? '-'],
    ['link_rtt', ({ link_rtt_ms: ms }: CarriedRow) => ms ?? '-']
  ]
})

const documentClients = documentClientsSlot.fill({
  key: viaKey,
  mapClients(value, mapClient) {
    if (Array.isArray(value)) return value.map(mapClient)
    return value == null ? value : mapClient(value)
  }
})

export const linkCheck = defineCheck<FindingId>({
  name: 'links',
  roles: ['server', 'agent'],
  findings: {
    'link.unreachable': {
      status: 'fail',
      when: 'a link is down: its dialer does not reach the listener',
      remedy:
        'check address, firewall and port forwarding of the listener, or set its endpoint: sluice client set-link CLIENT'
    },
    'link.pin': {
      status: 'fail',
      when: 'a link is down: another key answers than the server says',
      remedy: 'connect both agents to the server; if it stays, somebody answers at that address in its place'
    },
    'link.port': {
      status: 'fail',
      when: 'a link is down: its listener cannot open the port of its endpoint',
      remedy:
        'free the port, allow it in allow_ports of the agent, or choose another: sluice client set-link CLIENT --port N'
    }
  },
  run: async context => (await import('./judge-links.ts')).judgeLinks(context) // loads slowly
})

export const commands = [list, show, set, test, setEndpoint, rotateKey]
export const fills = [
  endpointsKind,
  linksKind,
  pushOption,
  connectionOptions,
  documentClients,
  checkSlot.fill(linkCheck)
]
