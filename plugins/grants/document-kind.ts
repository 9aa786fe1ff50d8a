// Grants in the document of `apply`, matched by use, user, client, ports and protocols. Only the note and fields that other
// plugins add can change in place.
import { isDeepStrictEqual } from 'node:util'
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
  async list({ api, seesAll }) {
    if (!seesAll) return [] // other users cannot change their grants
    const rows = await api.list<DocumentEntry>('/v1/grants')
    const given = rows.filter(({ source }) => source === null) // only the groups at a provider change the others
    return given.map(({ grant_id, client_name: _, created_at: __, source: ___, ...body }) => ({
      key: matchKey(body),
      body,
      id: String(grant_id)
    }))
  },
  resolve({ client, client_id, ...given }, context) {
    const { entries } = given
    const more = {
      ...given,
      ...(Array.isArray(entries) && { entries: entries.map(entry => context.clientId(entry)) })
    }
    const named = client_id ?? client
    if (named === undefined) return more // the server refuses it
    return { ...more, client_id: named === '*' ? '*' : context.clientId(named) }
  },
  parse(entry, context) {
    const body = { ...context.defaults(name), ...entry }
    return { key: matchKey(body), body, id: '' }
  },
  format({ body: { client_id, entries, ...rest } }, context) {
    const absent: DocumentEntry = {
      ...context.defaults(name),
      use: 'listen',
      listen_port_start: null,
      listen_port_end: null
    }
    const present = Object.entries(rest).filter(
      ([key, value]) => !(key in absent && isDeepStrictEqual(value, absent[key]))
    )
    return {
      ...Object.fromEntries(present),
      ...(Array.isArray(entries) && { entries: entries.map(entry => context.clientName(entry)) }),
      client: context.clientName(client_id)
    }
  },
  label({ body }, context) {
    const { user_id, client_id, listen_port_start: from, listen_port_end: to = from, protocols } = body
    const ports = body['use'] === 'exit' ? 'exit' : from === to ? from : `${from}-${to}`
    return ['grant', user_id, context.clientName(client_id), ports, protocols].filter(part => part).join(' ')
  },
  create: ({ body }, { api }) => api.send('POST', '/v1/grants', body),
  change(from, to, context) {
    if (!hasSameBody(from, to, ['note', ...Object.keys(context.defaults(name))])) return null
    return () => context.api.send('PATCH', grantPath(from), makeMergePatch(from.body, to.body) as object)
  },
  remove: (item, { api }) => api.send('DELETE', grantPath(item))
})

const grantPath = ({ id }: DocumentItem): string => `/v1/grants/${encodeURIComponent(id)}`

const matchKey = ({ use = 'listen', ...body }: DocumentEntry): string =>
  [
    use,
    ...['user_id', 'client_id', 'listen_port_start', 'listen_port_end', 'protocols'].map(key => body[key])
  ].join(' ')
