// Rules in the document of `apply`, matched by rule_id, or by client, protocol, ports and the fields that distinguish
// rules on a port.
import { isDeepStrictEqual } from 'node:util'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  documentKindSlot,
  mergePatch
} from './document.ts'
import { type RuleField, ruleFieldSlot } from './rule-field.ts'
import { liveTrafficSlot } from './slots.ts'

export const rulesKind = documentKindSlot.fill({
  name: 'rules',
  role: 'object',
  entry: async filled => (await import('./schema.ts')).documentBody(filled),
  async list(context) {
    const records = await context.api.list<DocumentEntry>('/v1/rules')
    return records.filter(({ state }) => state !== 'draining').map(record => itemOf(record, context))
  },
  parse(entry, context) {
    const { rule_id, client, listen_port, targets, owner = context.userId, protocol = 'tcp', ...more } = entry
    const { placed_by = owner } = entry
    if (client === undefined || listen_port === undefined || !Array.isArray(targets))
      throw new Fault(invalidSchema, 'a rule in the file needs client, listen_port and targets')
    const body = {
      ...defaults(context),
      ...more,
      owner,
      placed_by,
      client: context.clientId(client),
      listen_port,
      protocol: String(protocol).toLowerCase(),
      targets: (targets as readonly DocumentEntry[]).map(targetOf) // the server validates the entries
    }
    return { key: keyOf(body, context), body, id: String(rule_id ?? '') }
  },
  format({ body }, context) {
    const { owner, placed_by, prefer_ipv6, paused, ...rest } = body
    const absent = fieldsIn(context).filter(field => field.absent !== undefined)
    const others = Object.entries(rest).filter(([key]) => !absent.some(field => field.key === key))
    const present = absent.filter(({ key, absent }) => !isDeepStrictEqual(body[key] ?? absent, absent))
    return {
      ...Object.fromEntries(others),
      client: context.clientName(body['client']),
      ...(owner !== context.userId && { owner }),
      ...(placed_by !== owner && { placed_by }),
      ...Object.fromEntries(present.map(({ key }) => [key, body[key]])),
      ...(prefer_ipv6 === true && { prefer_ipv6 }),
      ...(paused === true && { paused })
    }
  },
  label({ body }, context) {
    const from = body['listen_port']
    const to = body['listen_port_end'] ?? from
    const distinction = distinctions(body, context).find(text => text !== '')
    const ports = from === to ? from : `${from}-${to}`
    return ['rule', context.clientName(body['client']), body['protocol'], ports, distinction]
      .filter(part => part)
      .join(' ')
  },
  async liveTraffic({ id }, { api, filled }) {
    const counts = await Promise.all(filled(liveTrafficSlot).map(({ value: count }) => count(id, api)))
    return counts.reduce((sum, count) => sum + count, 0)
  },
  create: ({ body }, { api }) => api.send('POST', '/v1/rules', body),
  movedKey: ({ body: { client, protocol, owner, targets } }) =>
    JSON.stringify([client, protocol, owner, targets]),
  change(from, to, context) {
    refuseOtherPlace(from, to)
    return () => change(from, to, context)
  },
  remove: (item, { api }) => api.send('DELETE', pathOf(item))
})

function refuseOtherPlace({ id, body }: DocumentItem, { body: next }: DocumentItem): void {
  const property = ['client', 'protocol', 'owner'].find(key => body[key] !== next[key])
  if (property === undefined) return
  const message = `rule ${id} has ${property} ${body[property]}, not ${next[property]}, which cannot change; remove it before another gets its port`
  throw new Fault(invalidSchema, message)
}

/** An agent that cannot change an open rule takes a definition: it closes and opens the port. */
async function change(from: DocumentItem, to: DocumentItem, { api }: DocumentContext): Promise<void> {
  try {
    await api.send('PATCH', pathOf(from), mergePatch(from.body, to.body) as object)
  } catch (error) {
    const isOld = error instanceof Fault && error.errorCode.code === 'rule_field_unsupported_by_client'
    const isMoved = ['listen_port', 'listen_port_end'].some(
      key => (from.body[key] ?? null) !== (to.body[key] ?? null)
    )
    if (!isOld || isMoved || to.body['paused'] === true) throw error
    await api.send('PUT', `${pathOf(from)}/definition`, to.body)
  }
}

type Context = Pick<DocumentContext, 'filled'>

const fieldsIn = ({ filled }: Context): RuleField[] => filled(ruleFieldSlot).map(({ value }) => value)

const pathOf = ({ id }: DocumentItem): string => `/v1/rules/${encodeURIComponent(id)}`

const readOnly = [
  'rule_id',
  'client_id',
  'client_name',
  'state',
  'state_reason',
  'created_at',
  'updated_at',
  'state_changed_at',
  'etag'
]

function itemOf(record: DocumentEntry, context: Context): DocumentItem {
  const body = {
    ...defaults(context),
    ...Object.fromEntries(Object.entries(record).filter(([key]) => !readOnly.includes(key))),
    client: record['client_id'],
    targets: (record['targets'] as readonly DocumentEntry[]).map(targetOf) // of a rule record
  }
  return { key: keyOf(body, context), body, id: String(record['rule_id']) }
}

const defaults = (context: Context): DocumentEntry => ({
  prefer_ipv6: false,
  paused: false,
  ...Object.fromEntries(
    fieldsIn(context).flatMap(({ key, absent }) => (absent === undefined ? [] : [[key, absent]]))
  )
})

const keyOf = (body: DocumentEntry, context: Context): string =>
  [
    body['client'],
    body['protocol'],
    body['listen_port'],
    body['listen_port_end'] ?? body['listen_port'],
    ...distinctions(body, context).map(text => text.toLowerCase())
  ].join(' ')

const distinctions = (body: DocumentEntry, context: Context): string[] =>
  fieldsIn(context).flatMap(field => {
    if (!field.distinguish) return []
    const value = body[field.key] ?? null
    return [value === null ? '' : field.distinguish(value)]
  })

const targetOf = ({ host, port, priority }: DocumentEntry, index: number): DocumentEntry => ({
  host: String(host)
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, ''),
  port,
  priority: priority ?? index
})
