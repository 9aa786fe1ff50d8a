// Rules in the document of `apply`. They match by rule_id, by client, owner and name, or by client, protocol, ports and the
// fields that distinguish rules on a port.
import { isDeepStrictEqual } from 'node:util'
import { Fault, invalidSchema } from '../../../kernel/base/errors.ts'
import { isId } from '../../../kernel/platform/id.ts'
import { liveTrafficSlot } from '../command-slots.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  describeUnsettled,
  documentClientsSlot,
  documentKindSlot,
  documentPlaceSlot,
  makeMergePatch
} from './document.ts'
import { queryText, rulePath } from './request-parts.ts'

const name = 'rules'

export const rulesKind = documentKindSlot.fill({
  name,
  role: 'object',
  async list(context) {
    const records = await context.api.list<DocumentEntry>('/v1/rules')
    return records.filter(({ state }) => state !== 'draining').map(record => toItem(record, context))
  },
  resolve(entry, context) {
    // A rule keeps the ids of deleted clients, and of those that its owner no longer sees.
    const toId = (client: unknown): string =>
      isId(String(client)) ? String(client) : context.clientId(client)
    return {
      ...mapNamed(entry, context, toId),
      ...(entry['client'] !== undefined && { client: context.clientId(entry['client']) }),
      ...mapPlace(entry, context, toId)
    }
  },
  parse(entry, context) {
    const { rule_id, owner = context.userId, placed_by = owner, if_offline, existing, ...more } = entry
    const { ack_timeout_secs, ...rest } = more
    const body = { ...rest, owner, placed_by, targets: documentTargets(entry, context) }
    const own = Object.entries({ if_offline, existing, ack_timeout_secs }).filter(
      ([, value]) => value != null
    )
    return {
      key: itemKey(body, context),
      body,
      id: String(rule_id ?? ''),
      delivery: { ...context.delivery, ...Object.fromEntries(own) }
    }
  },
  format({ body }, context) {
    const { owner, placed_by, ...rest } = body
    const absent = context.defaults(name)
    const isDefault = ([key, value]: [string, unknown]) =>
      key in absent && isDeepStrictEqual(value ?? absent[key], absent[key])
    const named = mapNamed(rest, context, context.clientName)
    return {
      ...Object.fromEntries(Object.entries(named).filter(property => !isDefault(property))),
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
    const name = body['name'] == null ? null : `(${body['name']})`
    const ports = from === to ? from : `${from}-${to}`
    return ['rule', placeText(body, context), body['protocol'], ports, distinction, name]
      .filter(part => part)
      .join(' ')
  },
  async liveTraffic({ id }, { api, filled }) {
    const counts = await Promise.all(filled(liveTrafficSlot).map(({ value: count }) => count(id, api)))
    return counts.reduce((sum, count) => sum + count, 0)
  },
  create({ body, delivery: { if_offline, ack_timeout_secs } = {} }, { api }) {
    const path = `/v1/rules${queryText({ ack_timeout_secs })}`
    return api.send('POST', path, { ...body, ...(if_offline && { if_offline }) })
  },
  nameKey: ({ body: { client = null, owner, name = null } }) =>
    name === null ? null : JSON.stringify([client, owner, name]),
  movedKey: ({ body: { client = null, protocol, owner, listen_port, targets } }) =>
    JSON.stringify([client, protocol, owner, client === null ? listen_port : null, targets]),
  change(from, to, context) {
    refuseOtherPlace(from, to)
    return () => change(from, to, context)
  },
  async remove({ id, body }, { api, delivery: { ack_timeout_secs }, offlineSince }) {
    await api.send('DELETE', `${rulePath(id)}${queryText({ ack_timeout_secs })}`)
    return { state: offlineSince(body['client']) === null ? 'removed' : 'pending' } // its agent may still be forwarding
  }
})

function refuseOtherPlace({ id, body }: DocumentItem, { body: next }: DocumentItem): void {
  const property = ['client', 'protocol', 'owner'].find(key => (body[key] ?? null) !== (next[key] ?? null))
  if (property === undefined) return
  const message = `rule ${id} has ${property} ${body[property]}, not ${next[property]}, which cannot change; remove it before another gets its port`
  throw new Fault(invalidSchema, message)
}

/** An agent that cannot change an open rule takes a definition, and closes the port for a moment. */
async function change(from: DocumentItem, to: DocumentItem, { api }: DocumentContext): Promise<unknown> {
  const { existing, ack_timeout_secs } = to.delivery ?? {}
  const path = rulePath(from.id)
  try {
    const patch = makeMergePatch(from.body, to.body) as object
    return await api.send('PATCH', `${path}${queryText({ existing, ack_timeout_secs })}`, patch)
  } catch (error) {
    const isOld = error instanceof Fault && error.errorCode.code === 'rule_field_unsupported_by_client'
    const isMoved = ['listen_port', 'listen_port_end'].some(
      key => (from.body[key] ?? null) !== (to.body[key] ?? null)
    )
    if (!isOld || isMoved || to.body['paused'] === true) throw error
    const body = { name: null, description: null, ...to.body } // a definition without them would keep them
    return api.send('PUT', `${path}/definition${queryText({ ack_timeout_secs })}`, body)
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

/** Returns the entry with mapped clients in the properties that name some, besides its place. */
function mapNamed(
  entry: DocumentEntry,
  { filled }: Context,
  mapClient: (client: unknown) => string
): DocumentEntry {
  const properties = filled(documentClientsSlot).map(({ value }) => value)
  const mapIn = (object: DocumentEntry): DocumentEntry => ({
    ...object,
    ...Object.fromEntries(
      properties.flatMap(({ key, mapClients }) =>
        key in object ? [[key, mapClients(object[key], mapClient)]] : []
      )
    )
  })
  const { targets } = entry
  return { ...mapIn(entry), ...(Array.isArray(targets) && { targets: targets.map(mapIn) }) }
}

function placeText(body: DocumentEntry, context: DocumentContext): string {
  if (body['client'] != null) return context.clientName(body['client'])
  const [place] = Object.values(mapPlace(body, context, context.clientName) ?? {})
  const words = Object.values(Object(place)).flat()
  return words.length > 3 ? `${words.slice(0, 3).join(',')},...` : words.join(',')
}

const readOnly = [
  'rule_id',
  'client_id',
  'client_name',
  'state',
  'state_reason',
  'change_pending',
  'created_at',
  'updated_at',
  'state_changed_at',
  'etag',
  'edges'
]

function toItem(record: DocumentEntry, context: DocumentContext): DocumentItem {
  const body = {
    ...context.defaults(name),
    ...Object.fromEntries(Object.entries(record).filter(([key]) => !readOnly.includes(key))),
    ...(record['client_id'] !== null && { client: record['client_id'] }),
    targets: documentTargets(record, context)
  }
  const id = String(record['rule_id'])
  return { key: itemKey(body, context), body, id, unsettled: describeUnsettled(record, context) }
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

/** Returns the targets without what only records show. */
function documentTargets({ targets }: DocumentEntry, { readOnly }: DocumentContext): DocumentEntry[] {
  const hidden = readOnly(name)
  const isShown = ([key, value]: [string, unknown]): boolean =>
    key === 'weight'
      ? (value ?? 1) !== 1
      : hidden
        ? !hidden.includes(`targets.${key}`)
        : ownKeys.includes(key)
  return (targets as readonly DocumentEntry[]).map(target =>
    Object.fromEntries(Object.entries(target).filter(isShown))
  )
}

const ownKeys = ['host', 'port', 'priority']
