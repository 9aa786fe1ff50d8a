import { Type } from '../../kernel/cli/args.ts'
import { type Api, type Column, defineCommand } from '../../kernel/cli/command.ts'
import { size } from '../../kernel/cli/size.ts'
import { findClientId } from '../clients/exports.ts'
import type { QuotaRow } from './schema.ts'

const dateOf = (secs: number): string => new Date(secs * 1000).toISOString()

const columns: readonly Column<QuotaRow>[] = [
  'user_id',
  'client_name',
  ['monthly', ({ monthly_bytes }) => size(monthly_bytes)],
  ['used', ({ bytes_used }) => size(bytes_used)],
  ['remaining', ({ bytes_remaining }) => size(bytes_remaining)],
  'exhausted',
  'enforced',
  ['period_end', ({ period_end }) => dateOf(period_end)],
  ['period_start', ({ period_start }) => dateOf(period_start)],
  'client_id'
]

const User = Type.String({ description: 'user_id' })
const Client = Type.String({ description: 'Id of a client, or a name that only one client has.' })
const Bytes = Type.Integer({
  minimum: 0,
  takesUnits: true,
  description: 'Bytes in a calendar month, in plus out.'
})
const pair = Type.Object({ user: User, client: Client })

const set = defineCommand({
  name: 'quota set',
  summary: "Set what a user's rules may deliver on a client in a month.",
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
    print.data(await api.send<QuotaRow>('PUT', await pathOf(api, { user, client }), body), columns)
  }
})

const clear = defineCommand({
  name: 'quota clear',
  summary: 'Set the usage of this period to 0; the period stays.',
  args: pair,
  positional: ['user', 'client'],
  run: async ({ api, args, print }) =>
    print.data(
      await api.send<QuotaRow>('PATCH', await pathOf(api, args), { clear_period_usage: true }),
      columns
    )
})

const show = defineCommand({
  name: 'quota show',
  summary: 'Show usage against a quota.',
  args: pair,
  positional: ['user', 'client'],
  run: async ({ api, args, print }) =>
    print.data(await api.get<QuotaRow>(`${await pathOf(api, args)}/status`), columns)
})

const list = defineCommand({
  name: 'quota list',
  summary: 'List the quotas: of a user, with --client on a client; of a superadmin all.',
  args: Type.Object({
    user: Type.Optional(Type.String({ description: 'user_id; default: all, or for a user the own ones.' })),
    client: Type.Optional(Client)
  }),
  positional: ['user'],
  async run({ api, args: { user, client }, print }) {
    const path = async (): Promise<string> => {
      if (client !== undefined) return `/v1/clients/${await findClientId(api, client)}/quotas`
      if (user !== undefined) return `/v1/users/${encode(user)}/quotas`
      const me = await api.get<{ user_id: string; role: string }>('/v1/users/me')
      return me.role === 'superadmin' ? '/v1/quotas' : `/v1/users/${encode(me.user_id)}/quotas`
    }
    const rows = await api.list<QuotaRow>(await path())
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
    await api.send('DELETE', await pathOf(api, args))
    print.done(`${args.user} has no quota on ${args.client}`, {
      ...{ user_id: args.user, client: args.client, deleted: true }
    })
  }
})

export const commands = [set, clear, show, list, remove]

const encode = encodeURIComponent

const pathOf = async (api: Api, { user, client }: { readonly user: string; readonly client: string }) =>
  `/v1/users/${encode(user)}/quotas/${await findClientId(api, client)}`
