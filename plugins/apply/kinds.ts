// What a document can hold: how each kind is found on the server, told apart, and compared.
import { isDeepStrictEqual } from 'node:util'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import type { Api } from '../../kernel/cli/command.ts'
import { type Entry, type KindName, withoutNull } from './document.ts'

/** One thing, on the server or in the file. */
export interface Item {
  readonly key: string // what it is matched by
  readonly body: Entry // of a create, with ids in place of names
  readonly id: string // on the server; empty in the file
}

export interface World {
  readonly api: Api
  readonly userId: string
  readonly isSuperadmin: boolean
  readonly clients: readonly { readonly client_id: string; readonly client_name: string }[]
  readonly hotFields: ReadonlySet<string>
}

export interface Kind {
  readonly name: KindName
  present(world: World): Promise<Item[]>
  wanted(entry: Entry, world: World): Item
  /** A body as a file says it, with names where they say who is meant. */
  shown(item: Item, world: World): Entry
  /** In its place, without a new one; false: only by taking it away and making it anew. */
  canChange(from: Item, to: Item, world: World): boolean
  create(item: Item, world: World): Promise<void>
  change(from: Item, to: Item, world: World): Promise<void>
  remove(item: Item, world: World): Promise<void>
  /** Which goes first where one replaces the other: a port is free only after, a grant must not leave a gap. */
  readonly replacing: 'remove first' | 'create first'
}

export const isSame = (a: Item, b: Item): boolean =>
  isDeepStrictEqual(withoutNull(a.body), withoutNull(b.body))

const part = (text: unknown): string => encodeURIComponent(String(text))

const rules: Kind = {
  name: 'rules',
  replacing: 'remove first',
  present: async ({ api }) => {
    const records = await api.list<Entry>('/v1/rules')
    return records.filter(({ state }) => state !== 'draining').map(ruleOf)
  },
  wanted(entry, world) {
    const { client, listen_port, targets, owner = world.userId, protocol = 'tcp', ...more } = entry
    if (client === undefined || listen_port === undefined || !Array.isArray(targets))
      throw new Fault(invalidSchema, 'a rule of the file needs client, listen_port and targets')
    const body = {
      prefer_ipv6: false,
      sni_fallback: false,
      ...more,
      owner,
      client: clientId(client, world),
      listen_port,
      protocol: String(protocol).toLowerCase(),
      targets: (targets as readonly Entry[]).map(targetOf)
    }
    return { key: ruleKey(body), body, id: '' }
  },
  shown: ({ body }, world) => {
    const { owner, sni_fallback, prefer_ipv6, ...rest } = body
    return {
      ...rest,
      client: clientName(body['client'], world),
      ...(owner !== world.userId && { owner }),
      ...(sni_fallback === true && { sni_fallback }),
      ...(prefer_ipv6 === true && { prefer_ipv6 })
    }
  },
  canChange: (from, to, { hotFields }) => isSame(without(from, hotFields), without(to, hotFields)),
  create: ({ body }, { api }) => api.send('POST', '/v1/rules', body),
  change: (from, { body }, { api }) => api.send('PUT', `/v1/rules/${part(from.id)}`, body),
  remove: ({ id }, { api }) => api.send('DELETE', `/v1/rules/${part(id)}`)
}

const readonlyOfRule = [
  'rule_id',
  'client_id',
  'client_name',
  'state',
  'state_reason',
  'created_at',
  'updated_at',
  'state_changed_at'
]

function ruleOf(record: Entry): Item {
  const own = Object.entries(record).filter(([key]) => !readonlyOfRule.includes(key))
  const body = {
    prefer_ipv6: false,
    sni_fallback: false,
    ...Object.fromEntries(own),
    client: record['client_id'],
    targets: (record['targets'] as readonly Entry[]).map(targetOf)
  }
  return { key: ruleKey(body), body, id: String(record['rule_id']) }
}

/** Client, protocol, listen ports and pattern. */
const ruleKey = (body: Entry): string =>
  [
    body['client'],
    body['protocol'],
    body['listen_port'],
    body['listen_port_end'] ?? body['listen_port'],
    String(body['sni_pattern'] ?? '').toLowerCase(),
    body['sni_fallback'] === true
  ].join(' ')

const targetOf = ({ host, port, priority }: Entry, index: number): Entry => ({
  host: String(host)
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, ''),
  port,
  priority: priority ?? index
})

const without = (item: Item, keys: ReadonlySet<string>): Item => ({
  ...item,
  body: Object.fromEntries(Object.entries(item.body).filter(([key]) => !keys.has(key)))
})

const grants: Kind = {
  name: 'grants',
  replacing: 'create first',
  present: async ({ api, isSuperadmin }) => {
    if (!isSuperadmin) return [] // theirs are not theirs to change
    const rows = await api.list<Entry>('/v1/grants')
    return rows.map(({ grant_id, client_name: _, created_at: __, ...body }) => ({
      key: grantKey(body),
      body,
      id: String(grant_id)
    }))
  },
  wanted(entry, world) {
    const { client, client_id, protocols, ...more } = entry
    const meant = client_id ?? client
    if (meant === undefined || !Array.isArray(protocols))
      throw new Fault(invalidSchema, 'a grant of the file needs user_id, client, listen ports and protocols')
    const spelled = [...new Set(protocols.map(protocol => String(protocol).toLowerCase()))].sort()
    const body = { ...more, client_id: meant === '*' ? '*' : clientId(meant, world), protocols: spelled }
    return { key: grantKey(body), body, id: '' }
  },
  shown: ({ body: { client_id, ...rest } }, world) => ({ ...rest, client: clientName(client_id, world) }),
  canChange: () => false,
  create: ({ body }, { api }) => api.send('POST', '/v1/grants', body),
  change: async () => {
    throw new TypeError('a grant is replaced, never changed')
  },
  remove: ({ id }, { api }) => api.send('DELETE', `/v1/grants/${part(id)}`)
}

const grantKey = (body: Entry): string =>
  ['user_id', 'client_id', 'listen_port_start', 'listen_port_end', 'protocols']
    .map(key => body[key])
    .join(' ')

const quotas: Kind = {
  name: 'quotas',
  replacing: 'remove first',
  present: async ({ api, isSuperadmin }) => {
    if (!isSuperadmin) return []
    const users = await api.list<{ user_id: string }>('/v1/users')
    const found = await Promise.all(
      users.map(({ user_id }) => api.list<Entry>(`/v1/users/${part(user_id)}/quotas`))
    )
    return found.flat().map(quotaOf)
  },
  wanted({ client, client_id, ...more }, world) {
    if ((client_id ?? client) === undefined)
      throw new Fault(invalidSchema, 'a quota of the file needs user_id, client and monthly_bytes')
    return quotaOf({ ...more, client_id: clientId(client_id ?? client, world) })
  },
  shown: ({ body: { client_id, ...rest } }, world) => ({ ...rest, client: clientName(client_id, world) }),
  canChange: (from, to) => isSame(without(from, sizeOfQuota), without(to, sizeOfQuota)),
  create: ({ body }, world) => putQuota(body, world),
  change: (_, { body }, world) => putQuota(body, world),
  remove: ({ body }, { api }) => api.send('DELETE', pathOfQuota(body))
}

const sizeOfQuota = new Set(['monthly_bytes'])

/** An anchor that the file leaves open is the one that is there. */
const quotaOf = ({ user_id, client_id, monthly_bytes, billing_anchor }: Entry): Item => ({
  key: `${user_id} ${client_id}`,
  body: { user_id, client_id, monthly_bytes, billing_anchor },
  id: ''
})

const pathOfQuota = ({ user_id, client_id }: Entry): string =>
  `/v1/users/${part(user_id)}/quotas/${part(client_id)}`

const putQuota = (body: Entry, { api }: World): Promise<void> => {
  const { user_id: _, client_id: __, ...rest } = body
  return api.send('PUT', pathOfQuota(body), withoutNull(rest) as object)
}

/** Grants first: what they allow is placed after them. */
export const kinds: readonly Kind[] = [grants, quotas, rules]

/** As people call it: `rule paris tcp 8000-8010`, `grant ann paris 1-99 tcp`, `quota ann paris`. */
export function labelOf({ name }: Kind, { body }: Item, world: World): string {
  const client = clientName(body['client'] ?? body['client_id'], world)
  const from = body['listen_port'] ?? body['listen_port_start']
  const to = body['listen_port_end'] ?? from
  const ports = from === to ? from : `${from}-${to}`
  const words: Readonly<Record<KindName, readonly unknown[]>> = {
    rules: [
      'rule',
      client,
      body['protocol'],
      ports,
      body['sni_pattern'] ?? (body['sni_fallback'] && 'fallback')
    ],
    grants: ['grant', body['user_id'], client, ports, body['protocols']],
    quotas: ['quota', body['user_id'], client]
  }
  return words[name].filter(word => word).join(' ')
}

function clientId(meant: unknown, { clients }: World): string {
  const found = clients.filter(
    ({ client_id, client_name }) => client_id === meant || client_name === String(meant)
  )
  const [only, other] = found
  if (only && !other) return only.client_id
  throw new Fault(
    invalidSchema,
    only ? `${found.length} clients are named ${meant}; write an id` : `there is no client ${meant}`
  )
}

/** An id where several have the name. */
function clientName(id: unknown, { clients }: World): string {
  const name = clients.find(({ client_id }) => client_id === id)?.client_name
  const isSole = clients.filter(({ client_name }) => client_name === name).length === 1
  return name !== undefined && isSole ? name : String(id)
}
