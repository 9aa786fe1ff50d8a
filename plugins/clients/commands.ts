import { Type } from 'typebox'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { pickClient } from './pick.ts'
import type { ClientRow } from './row.ts'

const Client = Type.String({ description: 'Id of a client, or a name that only one has.' })

const list = defineCommand({
  name: 'client list',
  summary: 'List the clients.',
  args: Type.Object({}),
  needs: 'api',
  run: async ({ api, print }) =>
    print.data(await api.list<ClientRow>('/v1/clients'), [
      'client_id',
      'client_name',
      'state',
      'address',
      'agent_version',
      'last_seen_at'
    ])
})

const show = defineCommand({
  name: 'client show',
  summary: 'Show one client.',
  args: Type.Object({ client: Client }),
  positional: ['client'],
  needs: 'api',
  run: async ({ api, args, print }) => print.data(await pickClient(api, args.client))
})

const rename = defineCommand({
  name: 'client rename',
  summary: 'Rename a client; its id, rules and connections stay.',
  args: Type.Object({ client: Client, name: Type.String({ description: 'The new name.' }) }),
  positional: ['client', 'name'],
  needs: 'api',
  async run({ api, args, print }) {
    const { client_id: id } = await pickClient(api, args.client)
    print.data(await api.send<ClientRow>('PATCH', `/v1/clients/${id}/name`, { client_name: args.name }))
  }
})

const setAddress = defineCommand({
  name: 'client set-address',
  summary: 'Set the public host of a client, or clear it.',
  args: Type.Object({
    client: Client,
    address: Type.Optional(Type.String({ description: 'DNS name or IP address, without a port.' })),
    clear: Type.Optional(Type.Boolean({ description: 'Take the address away.' }))
  }),
  positional: ['client', 'address'],
  needs: 'api',
  async run({ api, args, print }) {
    if ((args.address === undefined) !== (args.clear === true))
      throw new Fault(wrongUsage, 'give either an ADDRESS or --clear')
    const { client_id: id } = await pickClient(api, args.client)
    print.data(await api.send<ClientRow>('PUT', `/v1/clients/${id}`, { address: args.address ?? null }))
  }
})

const revoke = defineCommand({
  name: 'client revoke',
  summary: 'End the token and the stream of a client.',
  args: Type.Object({ client: Client }),
  positional: ['client'],
  needs: 'api',
  async run({ api, args, print }) {
    const { client_id: id, client_name: name } = await pickClient(api, args.client)
    await api.send('POST', `/v1/clients/${id}/revoke`)
    print.line(`${name} (${id}) is revoked`)
  }
})

const remove = defineCommand({
  name: 'client delete',
  summary: 'Delete a revoked client and what belongs to it.',
  args: Type.Object({ client: Client }),
  positional: ['client'],
  needs: 'api',
  async run({ api, args, print }) {
    const { client_id: id, client_name: name } = await pickClient(api, args.client)
    await api.send('DELETE', `/v1/clients/${id}`)
    print.line(`${name} (${id}) is deleted`)
  }
})

export const commands = [list, show, rename, setAddress, revoke, remove]
