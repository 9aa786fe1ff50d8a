// Endpoints and links in the document of `apply`. Rules need endpoints, and make links: endpoints are set before rules, the
// settings of links after them.
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  documentKindSlot,
  makeMergePatch
} from '../rules/command-exports.ts'
import type { LinkRecord } from './schema.ts'

const endpoints = 'link_endpoints'
const links = 'links'

interface ClientWithLink {
  readonly client_id: string
  readonly link?: { readonly port: number; readonly hosts: readonly string[] | null } | null
}

const patchClient = (client: unknown, link: object | null, { api }: DocumentContext): Promise<unknown> =>
  api.send('PATCH', `/v1/clients/${encodeURIComponent(String(client))}`, { link })

/** Matched by client. */
export const endpointsKind = documentKindSlot.fill({
  name: endpoints,
  role: 'limit',
  async list({ api, seesAll }) {
    if (!seesAll) return [] // other users cannot see them
    const clients = await api.list<ClientWithLink>('/v1/clients')
    return clients.flatMap(({ client_id: client, link }) =>
      link ? [endpointItem({ client, port: link.port, hosts: link.hosts })] : []
    )
  },
  resolve: ({ client, ...more }, context) => ({
    ...more,
    ...(client !== undefined && { client: context.clientId(client) })
  }),
  parse: (entry, context) => endpointItem({ ...context.defaults(endpoints), ...entry }),
  format: ({ body }, context) => ({
    ...presentIn(body, endpoints, context),
    client: context.clientName(body['client'])
  }),
  label: ({ body: { client } }, context) => `link endpoint ${context.clientName(client)}`,
  create: putEndpoint,
  change: (_, to, context) => () => putEndpoint(to, context),
  remove: ({ body: { client } }, context) => patchClient(client, null, context)
})

const endpointItem = (body: DocumentEntry): DocumentItem => ({ key: String(body['client']), body, id: '' })

function putEndpoint(
  { body: { client, ...endpoint } }: DocumentItem,
  context: DocumentContext
): Promise<unknown> {
  return patchClient(client, endpoint, context)
}

/** Matched by the two clients of one hop. A link with default settings is there because of rules. */
export const linksKind = documentKindSlot.fill({
  name: links,
  role: 'object',
  async list(context) {
    if (!context.seesAll) return [] // other users cannot change them
    const rows = await context.api.list<LinkRecord>('/v1/links')
    return rows.map(({ link_id: id, clients: [near, far], ...row }) => {
      const settings = { ...row, udp: row.udp_wanted }
      const known = Object.keys(context.defaults(links)).map(key => [
        key,
        settings[key as keyof typeof settings]
      ])
      const body = { entry: near?.client_id, exit: far?.client_id, ...Object.fromEntries(known) }
      const isImplicit = Object.keys(presentIn(settingsIn(linkItem(body)), links, context)).length === 0
      return { ...linkItem(body), id, isImplicit }
    })
  },
  resolve: ({ entry, exit, ...more }, context) => ({
    ...more,
    ...(entry !== undefined && { entry: context.clientId(entry) }),
    ...(exit !== undefined && { exit: context.clientId(exit) })
  }),
  parse: (entry, context) => linkItem({ ...context.defaults(links), ...entry }),
  format: ({ body }, context) => ({
    ...presentIn(body, links, context),
    entry: context.clientName(body['entry']),
    exit: context.clientName(body['exit'])
  }),
  label: ({ body: { entry, exit } }, context) =>
    `link ${context.clientName(entry)}/${context.clientName(exit)}`,
  create: setLink,
  change: (from, to, context) => () =>
    patchLink(from.id, makeMergePatch(settingsIn(from), settingsIn(to)), context),
  remove: ({ id }, context) => patchLink(id, context.defaults(links), context)
})

const linkItem = (body: DocumentEntry): DocumentItem => ({
  key: `${body['entry']} ${body['exit']}`,
  body,
  id: ''
})

const settingsIn = ({ body: { entry: _, exit: __, ...settings } }: DocumentItem): DocumentEntry => settings

/** Sets a link that appeared with a rule of the same document. */
async function setLink(item: DocumentItem, context: DocumentContext): Promise<unknown> {
  const { entry, exit } = item.body
  const rows = await context.api.list<LinkRecord>(`/v1/links?client=${encodeURIComponent(String(entry))}`)
  const row = rows.find(({ clients: [near, far] }) => near?.client_id === entry && far?.client_id === exit)
  return patchLink(row?.link_id ?? 'none', settingsIn(item), context)
}

const patchLink = (id: string, body: unknown, { api }: DocumentContext): Promise<unknown> =>
  api.send('PATCH', `/v1/links/${encodeURIComponent(id)}`, Object(body))

/** Returns the properties that differ from the defaults. */
function presentIn(body: DocumentEntry, kind: string, context: DocumentContext): DocumentEntry {
  const absent = context.defaults(kind)
  return Object.fromEntries(
    Object.entries(body).filter(
      ([key, value]) => !(key in absent && JSON.stringify(value) === JSON.stringify(absent[key]))
    )
  )
}
