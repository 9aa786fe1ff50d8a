import { Type } from '../../kernel/cli/args.ts'
import { type Api, type Column, defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg, findClientId } from '../clients/command-exports.ts'
import { seesAll } from '../http/command-exports.ts'
import { UserArg, userIds } from '../users/command-exports.ts'
import { quotasKind } from './document-kind.ts'
import type { QuotaRow } from './schema.ts'

const formatDate = (secs: number): string => new Date(secs * 1000).toISOString()

const columns: readonly Column<QuotaRow>[] = [
  'user_id',
  'client_name',
  'monthly_bytes',
  'bytes_used',
  'bytes_remaining',
  'exhausted',
  'enforced',
  ['period_end', ({ period_end }) => formatDate(period_end)],
  ['period_start', ({ period_start }) => formatDate(period_start)],
  'client_id'
]

const url = '/v1/users/{user_id}/quotas/{client_id}'
const Bytes = Type.Integer({
  minimum: 0,
  unit: 'B',
  description: 'Bytes in a calendar month, in plus out.'
})
const pair = Type.Object({ user: UserArg, client: ClientArg })

const set = defineCommand({
  name: 'quota set',
  summary: "Set the bytes that a user's rules may deliver on a client in a month.",
  examples: ['sluice quota set ann paris 500G'],
  args: Type.Object({
    ...pair.properties,
    monthly_bytes: Bytes,
    billing_anchor: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Period start, Unix seconds; default: first of the month.' })
    )
  }),
  positional: ['user', 'client', 'monthly_bytes'],
  async run({ api, args: { user, client, ...body }, print }) {
    const path = await resolvePath(api, { user, client })
    print.data(await api.call(`PUT ${url}`, { path, body }), columns)
  }
})

const clear = defineCommand({
  name: 'quota clear',
  summary: 'Set the usage of this period to 0; the period stays.',
  args: pair,
  positional: ['user', 'client'],
  run: async ({ api, args, print }) =>
    print.data(
      await api.call(`PATCH ${url}`, {
        path: await resolvePath(api, args),
        body: { clear_period_usage: true }
      }),
      columns
    )
})

const show = defineCommand({
  name: 'quota show',
  summary: 'Show usage against a quota.',
  args: pair,
  positional: ['user', 'client'],
  run: async ({ api, args, print }) =>
    print.data(await api.call(`GET ${url}/status`, { path: await resolvePath(api, args) }), columns)
})

const list = defineCommand({
  name: 'quota list',
  summary: 'List the quotas of a user or a client; by default all, or your own.',
  args: Type.Object({
    user: Type.Optional(
      Type.String({
        description: 'Id of the user. Default: all users; with the role user, you.',
        ...userIds
      })
    ),
    client: Type.Optional(ClientArg)
  }),
  positional: ['user'],
  async run({ api, args: { user, client }, print }) {
    const userQuotas = (user_id: string) => api.rows('GET /v1/users/{user_id}/quotas', { path: { user_id } })
    const found = async (): Promise<readonly QuotaRow[]> => {
      if (client !== undefined) {
        const client_id = await findClientId(api, client)
        return api.rows('GET /v1/clients/{client_id}/quotas', { path: { client_id } })
      }
      if (user !== undefined) return userQuotas(user)
      const me = await api.call('GET /v1/users/me')
      return seesAll(me) ? api.rows('GET /v1/quotas') : userQuotas(me.user_id)
    }
    const rows = await found()
    const matches = (row: QuotaRow): boolean => user === undefined || row.user_id === user
    print.data(rows.filter(matches), columns)
  }
})

const remove = defineCommand({
  name: 'quota delete',
  aliases: ['remove'],
  summary: 'Delete a quota; connections that it paused continue.',
  args: pair,
  positional: ['user', 'client'],
  async run({ api, args, print }) {
    await api.call(`DELETE ${url}`, { path: await resolvePath(api, args) })
    print.done(`${args.user} has no quota on ${args.client}`, {
      user_id: args.user,
      client: args.client,
      deleted: true
    })
  }
})

export const commands = [set, clear, show, list, remove]
export const fills = [quotasKind]

const resolvePath = async (
  api: Api,
  { user, client }: { readonly user: string; readonly client: string }
) => ({ user_id: user, client_id: await findClientId(api, client) })
