import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type, Yes } from '../../kernel/cli/args.ts'
import { type Api, type Command, defineCommand } from '../../kernel/cli/command.ts'
import { addedArgs, addedColumns, addedQuery, listOptionSlots } from '../http/command-exports.ts'
import { ClientArg, findClient } from './client-argument.ts'

const oneClient = { args: Type.Object({ client: ClientArg }), positional: ['client'] }
const columns = ['client_id', 'client_name', 'state', 'address', 'agent_version', 'last_seen_at'] as const

const list = defineCommand({
  name: 'client list',
  summary: 'List the clients.',
  reads: [listOptionSlots.client],
  extraArgs: filled => addedArgs(filled(listOptionSlots.client)),
  async run({ api, args, filled, print }) {
    const more = filled(listOptionSlots.client)
    const rows = await api.rows('GET /v1/clients', { query: addedQuery(more, args) })
    const hasConflict = rows.some(({ instance_conflict }) => instance_conflict !== null)
    print.data(rows, [...columns, ...(hasConflict ? ['instance_conflict'] : []), ...addedColumns(more)])
  }
})

const show = defineCommand({
  name: 'client show',
  summary: 'Show one client.',
  ...oneClient,
  run: async ({ api, args, print }) => print.data(await findClient(api, args.client))
})

const rename = defineCommand({
  name: 'client rename',
  summary: 'Rename a client; its id, rules and connections stay.',
  args: Type.Object({ client: ClientArg, name: Type.String({ description: 'The new name.' }) }),
  positional: ['client', 'name'],
  async run({ api, args, print }) {
    const { client_id } = await findClient(api, args.client)
    const body = { client_name: args.name }
    print.data(await api.call('PATCH /v1/clients/{client_id}/name', { path: { client_id }, body }))
  }
})

const setAddress = defineCommand({
  name: 'client set-address',
  summary: 'Set the public host of a client, or clear it.',
  args: Type.Object({
    client: ClientArg,
    address: Type.Optional(Type.String({ description: 'DNS name or IP address, without a port.' })),
    clear: Type.Optional(Type.Boolean({ description: 'Remove the address.' }))
  }),
  positional: ['client', 'address'],
  async run({ api, args, print }) {
    if ((args.address === undefined) !== (args.clear === true))
      throw new Fault(wrongUsage, 'give either an ADDRESS or --clear')
    const { client_id } = await findClient(api, args.client)
    const body = { address: args.address ?? null }
    print.data(await api.call('PUT /v1/clients/{client_id}', { path: { client_id }, body }))
  }
})

interface Action {
  readonly operation: 'POST /v1/clients/{client_id}/revoke' | 'DELETE /v1/clients/{client_id}'
  readonly verb: string
  readonly result: string
  readonly listLosses: (rules: number) => readonly string[]
}

const countRules = async (api: Api, client: string): Promise<number> =>
  (await api.rows('GET /v1/rules', { query: { client } })).length

/** Returns a command that sends one request about a client and prints the result. */
const actionCommand = (
  named: Pick<Command, 'name' | 'aliases' | 'summary'>,
  { operation, verb, result, listLosses }: Action
): Command =>
  defineCommand({
    ...named,
    ...oneClient,
    args: Type.Object({ client: ClientArg, yes: Yes }),
    async run({ api, args, print, confirm }) {
      const { client_id: id, client_name: clientName } = await findClient(api, args.client)
      await confirm(`${verb} ${clientName} (${id})?`, {
        losses: async () => listLosses(await countRules(api, id))
      })
      await api.call(operation, { path: { client_id: id } })
      print.done(`${clientName} (${id}) is ${result}`, {
        client_id: id,
        client_name: clientName,
        [result]: true
      })
    }
  })

const revoke = actionCommand(
  { name: 'client revoke', summary: 'Revoke the token of a client and end its control stream.' },
  {
    operation: 'POST /v1/clients/{client_id}/revoke',
    verb: 'Revoke',
    result: 'revoked',
    listLosses: rules => [`ports and live connections of its rules: ${rules}`]
  }
)

const remove = actionCommand(
  {
    name: 'client delete',
    aliases: ['remove'],
    summary: 'Delete a revoked client and everything that belongs to it.'
  },
  {
    operation: 'DELETE /v1/clients/{client_id}',
    verb: 'Delete',
    result: 'deleted',
    listLosses: rules => [`rules: ${rules}`, 'all grants, quotas and limits on it']
  }
)

const approve = defineCommand({
  name: 'client approve',
  summary: 'Approve a pending client, so that it can have rules.',
  ...oneClient,
  async run({ api, args, print }) {
    const { client_id, client_name } = await findClient(api, args.client)
    await api.call('POST /v1/clients/{client_id}/approve', { path: { client_id } })
    print.done(`${client_name} (${client_id}) is approved`, { client_id, client_name, approved: true })
  }
})

export const commands = [list, show, rename, setAddress, approve, revoke, remove]
