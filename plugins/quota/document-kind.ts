// Quotas in the document of `apply`: matched by user and client.
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  describeUnsettled,
  documentKindSlot,
  hasSameBody,
  withoutNull
} from '../rules/command-exports.ts'

export const quotasKind = documentKindSlot.fill({
  name: 'quotas',
  role: 'limit',
  async list(context) {
    const { api, seesAll } = context
    if (!seesAll) return []
    const users = await api.list<{ user_id: string }>('/v1/users')
    const found = await Promise.all(
      users.map(({ user_id }) => api.list<DocumentEntry>(`/v1/users/${encodeURIComponent(user_id)}/quotas`))
    )
    return found.flat().map(row => toItem(row, context))
  },
  resolve({ client, client_id, ...more }, context) {
    if ((client_id ?? client) === undefined)
      throw new Fault(invalidSchema, 'a quota of the file needs user_id, client and monthly_bytes')
    return { ...more, client_id: context.clientId(client_id ?? client) }
  },
  parse: toItem,
  format: ({ body: { client_id, ...rest } }, context) => ({ ...rest, client: context.clientName(client_id) }),
  label: ({ body: { user_id, client_id } }, context) =>
    ['quota', user_id, context.clientName(client_id)].filter(part => part).join(' '),
  /** Keeps the anchor if the document has none. */
  complete: (item, { body: { billing_anchor } }) =>
    item.body['billing_anchor'] === undefined ? { ...item, body: { ...item.body, billing_anchor } } : item,
  create: (item, context) => put(item, context),
  change(from, to, context) {
    if (hasSameBody(from, to, ['monthly_bytes'])) return () => put(to, context)
    const { user_id, client_id } = to.body
    const name = `quota ${user_id} ${context.clientName(client_id)}`
    throw new Fault(
      invalidSchema,
      `billing_anchor of ${name} cannot change; delete the quota first, with its usage`
    )
  },
  remove: (item, { api }) => api.send('DELETE', quotaPath(item))
})

function toItem(row: DocumentEntry, context: DocumentContext): DocumentItem {
  const { user_id, client_id, monthly_bytes, billing_anchor } = row
  const body = { user_id, client_id, monthly_bytes, billing_anchor }
  return { key: `${user_id} ${client_id}`, body, id: '', unsettled: describeUnsettled(row, context) }
}

const quotaPath = ({ body: { user_id, client_id } }: DocumentItem): string =>
  `/v1/users/${encodeURIComponent(String(user_id))}/quotas/${encodeURIComponent(String(client_id))}`

function put(item: DocumentItem, { api }: DocumentContext): Promise<unknown> {
  const { user_id: _, client_id: __, ...rest } = item.body
  return api.send('PUT', quotaPath(item), withoutNull(rest) as object)
}
