import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Command, defineCommand } from '../../kernel/cli/command.ts'
import { findClient } from './client-argument.ts'
import type { ClientRow } from './row.ts'

const Client = Type.String({ description: 'Id of a client, or a name that only one client has.' })
const oneClient = { args: Type.Object({ client: Client }), positional: ['client'] }
const columns = ['client_id', 'client_name', 'state', 'address', 'agent_version', 'last_seen_at'] as const

const list = defineCommand({
  name: 'client list',
  summary: 'List the clients.',
  run: async ({ api, print }) => print.data(await api.list<ClientRow>('/v1/clients'), columns)
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
  args: Type.Object({ client: Client, name: Type.String({ description: 'The new name.' }) }),
  positional: ['client', 'name'],
  async run({ api, args, print }) {
    const { client_id: id } = await findClient(api, args.client)
    print.data(await api.send<ClientRow>('PATCH', `/v1/clients/${id}/name`, { client_name: args.name }))
  }
})

const setAddress = defineCommand({
  name: 'client set-address',
  summary: 'Set the public host of a client, or clear it.',
  args: Type.Object({
    client: Client,
    address: Type.Optional(Type.String({ description: 'DNS name or IP address, without a port.' })),
    clear: Type.Optional(Type.Boolean({ description: 'Remove the address.' }))
  }),
  positional: ['client', 'address'],
  async run({ api, args, print }) {
    if ((args.address === undefined) !== (args.clear === true))
      throw new Fault(wrongUsage, 'give either an ADDRESS or --clear')
    const { client_id: id } = await findClient(api, args.client)
    print.data(await api.send<ClientRow>('PUT', `/v1/clients/${id}`, { address: args.address ?? null }))
  }
})

/** Returns a command that sends one request about a client and prints the result. */
const actionCommand = (
  { name, summary }: Pick<Command, 'name' | 'summary'>,
  { method, suffix, result }: { method: 'POST' | 'DELETE'; suffix: string; result: string }
): Command =>
  defineCommand({
    name,
    summary,
    ...oneClient,
    async run({ api, args, print }) {
      const { client_id: id, client_name: clientName } = await findClient(api, args.client)
      await api.send(method, `/v1/clients/${id}${suffix}`)
      print.line(`${clientName} (${id}) is ${result}`)
    }
  })

const revoke = actionCommand(
  { name: 'client revoke', summary: 'Revoke the token of a client and end its control stream.' },
  { method: 'POST', suffix: '/revoke', result: 'revoked' }
)

const remove = actionCommand(
  { name: 'client delete', summary: 'Delete a revoked client and everything that belongs to it.' },
  { method: 'DELETE', suffix: '', result: 'deleted' }
)

export const commands = [list, show, rename, setAddress, revoke, remove]
