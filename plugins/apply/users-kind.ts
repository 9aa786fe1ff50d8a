// Users in the document, matched by user_id. The document has no passwords or tokens, so a new user has none.
import { isDeepStrictEqual } from 'node:util'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import {
  type DocumentContext,
  type DocumentEntry,
  type DocumentItem,
  documentKindSlot,
  liveTrafficSlot,
  makeMergePatch
} from '../rules/command-exports.ts'

const name = 'users'

export const usersKind = documentKindSlot.fill({
  name,
  role: 'owner',
  async list(context) {
    if (!context.seesAll) return []
    return (await context.api.list<DocumentEntry>('/v1/users')).map(row => toItem(row, context))
  },
  parse: toItem,
  format({ body: { user_id, display_name, role, kind, disabled, ...fields } }, context) {
    const absent = context.defaults(name)
    const present = Object.entries(fields).filter(([key, value]) => !isDeepStrictEqual(value, absent[key]))
    return {
      user_id,
      display_name,
      ...(role !== 'user' && { role }),
      ...(kind !== 'user' && { kind }),
      ...(disabled === true && { disabled }),
      ...Object.fromEntries(present)
    }
  },
  label: ({ body: { user_id } }) => `user ${user_id}`,
  /** Keeps a display name that the document omits. */
  complete: (item, { body: { display_name } }) =>
    item.body['display_name'] === undefined ? { ...item, body: { ...item.body, display_name } } : item,
  async create(item, context) {
    const { user_id, display_name = user_id, role, disabled, ...fields } = item.body
    const isDisabled = disabled === true // create it as a user, so that it is never an enabled superadmin
    const body = { user_id, display_name, role: isDisabled ? 'user' : role, ...fields }
    await context.api.send('POST', '/v1/users', body)
    if (isDisabled) await update(item, { role, disabled }, context)
  },
  change(from, to, context) {
    refuseOtherKind(from, to)
    return () => update(to, makeMergePatch(from.body, to.body) as object, context)
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

function toItem(row: DocumentEntry, context: DocumentContext): DocumentItem {
  const { user_id, display_name, role = 'user', kind = 'user', disabled = false } = row
  const fields = Object.entries(context.defaults(name)).map(([key, absent]) => [key, row[key] ?? absent])
  const body = { user_id, display_name, role, kind, disabled, ...Object.fromEntries(fields) }
  return { key: String(user_id), body, id: '' }
}

function refuseOtherKind({ key, body: from }: DocumentItem, { body: to }: DocumentItem): void {
  if (from['kind'] !== to['kind'])
    throw new Fault(
      invalidSchema,
      `users: ${key} has kind "${from['kind']}", which cannot change to "${to['kind']}"; write its kind, or delete it first`
    )
}

const pathOf = (userId: string): string => `/v1/users/${encodeURIComponent(userId)}`

const update = ({ key }: DocumentItem, body: object, { api }: DocumentContext): Promise<void> =>
  api.send('PATCH', pathOf(key), body)
