// Users in the document of `apply`: matched by user_id. Credentials are not in the document; a new user has none.
import { Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  documentKindSlot,
  liveTrafficSlot
} from '../rules/exports.ts'

const Entry = closed({
  user_id: Type.String(),
  display_name: Type.Optional(Type.String()),
  role: Type.Optional(Type.Union([Type.Literal('superadmin'), Type.Literal('user')])),
  disabled: Type.Optional(Type.Boolean())
})

export const usersKind = documentKindSlot.fill({
  name: 'users',
  role: 'owner',
  entry: async () => Entry,
  async list({ api, isSuperadmin }) {
    return isSuperadmin ? (await api.list<DocumentEntry>('/v1/users')).map(itemOf) : []
  },
  parse: itemOf,
  format({ body: { user_id, display_name, role, disabled } }) {
    return { user_id, display_name, ...(role !== 'user' && { role }), ...(disabled === true && { disabled }) }
  },
  label: ({ body: { user_id } }) => `user ${user_id}`,
  /** A display name that the document leaves out stays as it is. */
  complete: (item, { body: { display_name } }) =>
    item.body['display_name'] === undefined ? { ...item, body: { ...item.body, display_name } } : item,
  async create(item, context) {
    const { user_id, display_name = user_id, role, disabled } = item.body
    const isDisabled = disabled === true // and so never an enabled superadmin, not even for a moment
    await context.api.send('POST', '/v1/users', { user_id, display_name, role: isDisabled ? 'user' : role })
    if (isDisabled) await update(item, { role, disabled }, context)
  },
  change: (from, to, context) => () => {
    const changed = Object.entries(to.body).filter(([key, value]) => from.body[key] !== value)
    return update(to, Object.fromEntries(changed), context)
  },
  async liveTraffic({ key }, { api, filled }) {
    const rules = await api.list<{ rule_id: string }>(`/v1/rules?owner=${encodeURIComponent(key)}`)
    const counts = filled(liveTrafficSlot).flatMap(({ value: count }) =>
      rules.map(({ rule_id: id }) => count(id, api))
    )
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  },
  remove: ({ key }, { api }) => api.send('DELETE', pathOf(key))
})

function itemOf({ user_id, display_name, role = 'user', disabled = false }: DocumentEntry): DocumentItem {
  return { key: String(user_id), body: { user_id, display_name, role, disabled }, id: '' }
}

const pathOf = (userId: string): string => `/v1/users/${encodeURIComponent(userId)}`

const update = ({ key }: DocumentItem, body: object, { api }: DocumentContext): Promise<void> =>
  api.send('PATCH', pathOf(key), body)
