// Grants in the document of `apply`, matched by user, client, ports and protocols. Only fields that other plugins add can
// change in place.
import { isDeepStrictEqual } from 'node:util'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import {
  type DocumentEntry,
  type DocumentItem,
  documentKindSlot,
  hasSameBody,
  makeMergePatch
} from '../rules/command-exports.ts'

const name = 'grants'

export const grantsKind = documentKindSlot.fill({
  name,
  role: 'limit',
  hasSeveral: true, // grants with equal keys can differ in targets and note
  async list({ api, isSuperadmin }) {
    if (!isSuperadmin) return [] // other users cannot change their grants
    const rows = await api.list<DocumentEntry>('/v1/grants')
    return rows.map(({ grant_id, client_name: _, created_at: __, ...body }) => ({
      key: matchKey(body),
      body,
      id: String(grant_id)
    }))
  },
  parse(entry, context) {
    const { client, client_id, protocols, ...more } = entry
    const named = client_id ?? client
    if (named === undefined || !Array.isArray(protocols))
      throw new Fault(
        invalidSchema,
        'each grant in the file needs user_id, client, listen ports and protocols'
      )
    const sorted = [...new Set(protocols.map(protocol => String(protocol).toLowerCase()))].sort()
    const body = {
      ...context.defaults(name),
      ...more,
      client_id: named === '*' ? '*' : context.clientId(named),
      protocols: sorted
    }
    return { key: matchKey(body), body, id: '' }
  },
  format({ body: { client_id, ...rest } }, context) {
    const absent = context.defaults(name)
    const present = Object.entries(rest).filter(
      ([key, value]) => !(key in absent && isDeepStrictEqual(value, absent[key]))
    )
    return { ...Object.fromEntries(present), client: context.clientName(client_id) }
  },
  label({ body }, context) {
    const { user_id, client_id, listen_port_start: from, listen_port_end: to = from, protocols } = body
    const ports = from === to ? from : `${from}-${to}`
    return ['grant', user_id, context.clientName(client_id), ports, protocols].filter(part => part).join(' ')
  },
  create: ({ body }, { api }) => api.send('POST', '/v1/grants', body),
  change(from, to, context) {
    if (!hasSameBody(from, to, Object.keys(context.defaults(name)))) return null
    return () => context.api.send('PATCH', grantPath(from), makeMergePatch(from.body, to.body) as object)
  },
  remove: (item, { api }) => api.send('DELETE', grantPath(item))
})

const grantPath = ({ id }: DocumentItem): string => `/v1/grants/${encodeURIComponent(id)}`

const matchKey = (body: DocumentEntry): string =>
  ['user_id', 'client_id', 'listen_port_start', 'listen_port_end', 'protocols']
    .map(property => body[property])
    .join(' ')
