// Owner limits in the document of `apply`, matched by client and owner.
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  describeUnsettled,
  documentKindSlot
} from '../rules/command-exports.ts'
import type { EnvelopeRow, OwnerRow } from './schema.ts'

export const ownerLimitsKind = documentKindSlot.fill({
  name: 'owner_limits',
  role: 'limit',
  async list(context) {
    const { api, seesAll } = context
    if (!seesAll) return [] // other users cannot change their limits
    const clients = await api.list<{ client_id: string }>('/v1/clients')
    const items: DocumentItem[] = []
    for (const { client_id: client } of clients) {
      const owners = await api.list<OwnerRow>(`/v1/clients/${encodeURIComponent(client)}/owners`)
      for (const { owner_id: owner } of owners.filter(({ has_rate_limit }) => has_rate_limit)) {
        const { rate_limit, enforced } = await api.get<EnvelopeRow>(envelopePath({ client, owner }))
        items.push(toItem({ client, owner, rate_limit, enforced }, context))
      }
    }
    return items
  },
  resolve: ({ client, ...more }, context) => ({
    ...more,
    ...(client !== undefined && { client: context.clientId(client) })
  }),
  parse: toItem,
  format: ({ body }, context) => ({ ...body, client: context.clientName(body['client']) }),
  label: ({ body: { client, owner } }, context) => `owner limit ${context.clientName(client)} ${owner}`,
  create: put,
  change: (_, to, context) => () => put(to, context),
  remove: ({ body }, { api }) => api.send('DELETE', envelopePath(body))
})

function toItem(row: DocumentEntry, context: DocumentContext): DocumentItem {
  const { client, owner, rate_limit } = row
  const body = { client, owner, rate_limit }
  return { key: `${client} ${owner}`, body, id: '', unsettled: describeUnsettled(row, context) }
}

const envelopePath = ({ client, owner }: DocumentEntry): string =>
  `/v1/clients/${encodeURIComponent(String(client))}/owners/${encodeURIComponent(String(owner))}/rate-limit`

function put({ body }: DocumentItem, { api }: DocumentContext): Promise<unknown> {
  return api.send('PUT', envelopePath(body), Object(body['rate_limit']))
}
