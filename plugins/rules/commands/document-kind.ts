// Rules in the document of `apply`. They match by rule_id, or by client, protocol, ports and the fields that distinguish
// rules on a port.
import { isDeepStrictEqual } from 'node:util'
import { Fault, invalidSchema } from '../../../kernel/base/errors.ts'
import { defaultPriority } from '../changes/default-priority.ts'
import { liveTrafficSlot } from '../command-slots.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  documentKindSlot,
  documentPlaceSlot,
  makeMergePatch
} from './document.ts'

const name = 'rules'

export const rulesKind = documentKindSlot.fill({
  name,
  role: 'object',
  async list(context) {
    const records = await context.api.list<DocumentEntry>('/v1/rules')
    return records.filter(({ state }) => state !== 'draining').map(record => toItem(record, context))
  },
  parse(entry, context) {
    const { rule_id, client, listen_port, targets, owner = context.userId, protocol = 'tcp', ...more } = entry
    const { placed_by = owner } = entry
    const place = mapPlace(more, context, context.clientId)
    if ((client === undefined) === (place === null) || listen_port === undefined || !Array.isArray(targets))
      throw new Fault(
        invalidSchema,
        `a rule in the file needs ${placeKeys(context)}, listen_port and targets`
      )
    const body = {
      ...context.defaults(name),
      ...more,
      ...place,
      owner,
      placed_by,
      ...(client !== undefined && { client: context.clientId(client) }),
      listen_port,
      protocol: String(protocol).toLowerCase(),
      // The server validates the entries.
      targets: (targets as readonly DocumentEntry[]).map((target, at) =>
        normalizeTarget(target, defaultPriority(more) ?? at)
      )
    }
    return { key: itemKey(body, context), body, id: String(rule_id ?? '') }
  },
  format({ body }, context) {
    const { owner, placed_by, ...rest } = body
    const absent = context.defaults(name)
    const isDefault = ([key, value]: [string, unknown]) =>
      key in absent && isDeepStrictEqual(value ?? absent[key], absent[key])
    return {
      ...Object.fromEntries(Object.entries(rest).filter(property => !isDefault(property))),
      ...(body['client'] != null && { client: context.clientName(body['client']) }),
      ...mapPlace(body, context, context.clientName),
      ...(owner !== context.userId && { owner }),
      ...(placed_by !== owner && { placed_by })
    }
  },
  label({ body }, context) {
    const from = body['listen_port']
    const to = body['listen_port_end'] ?? from
    const distinction = distinctions(body, context).find(text => text !== '')
    const ports = from === to ? from : `${from}-${to}`
    return ['rule', placeText(body, context), body['protocol'], ports, distinction]
      .filter(part => part)
      .join(' ')
  },
  async liveTraffic({ id }, { api, filled }) {
    const counts = await Promise.all(filled(liveTrafficSlot).map(({ value: count }) => count(id, api)))
    return counts.reduce((sum, count) => sum + count, 0)
  },
  create: ({ body }, { api }) => api.send('POST', '/v1/rules', body),
  movedKey: ({ body: { client = null, protocol, owner, listen_port, targets } }) =>
    JSON.stringify([client, protocol, owner, client === null ? listen_port : null, targets]),
  change(from, to, context) {
    refuseOtherPlace(from, to)
    return () => change(from, to, context)
  },
  remove: (item, { api }) => api.send('DELETE', rulePath(item))
})

function refuseOtherPlace({ id, body }: DocumentItem, { body: next }: DocumentItem): void {
  const property = ['client', 'protocol', 'owner'].find(key => (body[key] ?? null) !== (next[key] ?? null))
  if (property === undefined) return
  const message = `rule ${id} has ${property} ${body[property]}, not ${next[property]}, which cannot change; remove it before another gets its port`
  throw new Fault(invalidSchema, message)
}

/** An agent that cannot change an open rule takes a definition, and closes the port for a moment. */
async function change(from: DocumentItem, to: DocumentItem, { api }: DocumentContext): Promise<void> {
  try {
    await api.send('PATCH', rulePath(from), makeMergePatch(from.body, to.body) as object)
  } catch (error) {
    const isOld = error instanceof Fault && error.errorCode.code === 'rule_field_unsupported_by_client'
    const isMoved = ['listen_port', 'listen_port_end'].some(
      key => (from.body[key] ?? null) !== (to.body[key] ?? null)
    )
    if (!isOld || isMoved || to.body['paused'] === true) throw error
    await api.send('PUT', `${rulePath(from)}/definition`, to.body)
  }
}

type Context = Pick<DocumentContext, 'defaults' | 'distinguishing' | 'filled'>

/** Returns the property that the entry has instead of `client`, with mapped clients; null: it has none. */
function mapPlace(
  entry: DocumentEntry,
  { filled }: Context,
  mapClient: (client: unknown) => string
): DocumentEntry | null {
  const place = filled(documentPlaceSlot).find(({ value: { key } }) => (entry[key] ?? null) !== null)?.value
  return place ? { [place.key]: place.mapClients(entry[place.key], mapClient) } : null
}

const placeKeys = ({ filled }: Context): string =>
  ['client', ...filled(documentPlaceSlot).map(({ value: { key } }) => key)].join(' or ')

function placeText(body: DocumentEntry, context: DocumentContext): string {
  if (body['client'] != null) return context.clientName(body['client'])
  const [place] = Object.values(mapPlace(body, context, context.clientName) ?? {})
  const words = Object.values(Object(place)).flat()
  return words.length > 3 ? `${words.slice(0, 3).join(',')},...` : words.join(',')
}

const rulePath = ({ id }: DocumentItem): string => `/v1/rules/${encodeURIComponent(id)}`

const readOnly = [
  'rule_id',
  'client_id',
  'client_name',
  'state',
  'state_reason',
  'created_at',
  'updated_at',
  'state_changed_at',
  'etag',
  'edges'
]

function toItem(record: DocumentEntry, context: Context): DocumentItem {
  const body = {
    ...context.defaults(name),
    ...Object.fromEntries(Object.entries(record).filter(([key]) => !readOnly.includes(key))),
    ...(record['client_id'] !== null && { client: record['client_id'] }),
    targets: (record['targets'] as readonly DocumentEntry[]).map(normalizeTarget) // a record has all priorities
  }
  return { key: itemKey(body, context), body, id: String(record['rule_id']) }
}

const itemKey = (body: DocumentEntry, context: Context): string =>
  [
    body['client'] ?? JSON.stringify(mapPlace(body, context, String)),
    body['protocol'],
    body['listen_port'],
    body['listen_port_end'] ?? body['listen_port'],
    ...distinctions(body, context).map(text => text.toLowerCase())
  ].join(' ')

const distinctions = (body: DocumentEntry, context: Context): string[] =>
  context.distinguishing(name).map(key => {
    const value = body[key] ?? null
    if (value === null || isDeepStrictEqual(value, context.defaults(name)[key])) return ''
    if (value === true) return key
    return typeof value === 'string' ? value : JSON.stringify(value)
  })

const normalizeTarget = (
  { host, port, priority, weight }: DocumentEntry,
  unordered: number
): DocumentEntry => ({
  host: String(host)
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, ''),
  port,
  priority: priority ?? unordered,
  ...((weight ?? 1) !== 1 && { weight })
})
