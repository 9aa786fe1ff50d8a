import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { parseDuration } from '../cli/command-exports.ts'
import { ClientArg, findClientId } from '../clients/command-exports.ts'

const columns = ['client_name', 'until', 'connections', 'new_connections', 'within_secs', 'made_by', 'reason']

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

const on = defineCommand({
  name: 'under-attack on',
  summary: 'Tighten the per-source limits of all rules for a time, on one client or on every client.',
  examples: [
    'sluice under-attack on --for 2h --reason "flood since noon"',
    'sluice under-attack on --client paris'
  ],
  args: Type.Object({
    client: Type.Optional(ClientArg),
    for: Type.Optional(Type.String({ description: 'How long: 30s, 10m, 1h, 7d. Default 1h.' })),
    reason: Type.Optional(Type.String({ description: 'Note for other operators.' })),
    connections: count('Open connections per source, on rules without source limits; default 20.'),
    new_connections: count('New connections per source in --within-secs, on those rules; default 20.'),
    within_secs: count('Period for --new-connections; default 10.')
  }),
  async run({ api, args: { client, for: time, ...more }, print }) {
    const body = { ...more, ...(time !== undefined && { for_secs: parseDuration(time) }) }
    if (client === undefined) {
      const { under_attack } = await api.call('PUT /v1/under-attack', { body })
      return print.data(under_attack, columns)
    }
    const path = { client_id: await findClientId(api, client) }
    print.data(await api.call('PUT /v1/clients/{client_id}/under-attack', { path, body }), columns)
  }
})

const off = defineCommand({
  name: 'under-attack off',
  summary: 'Restore the limits of the rules, on one client or on every client.',
  args: Type.Object({ client: Type.Optional(ClientArg) }),
  async run({ api, args: { client }, print }) {
    if (client === undefined) await api.call('DELETE /v1/under-attack')
    else
      await api.call('DELETE /v1/clients/{client_id}/under-attack', {
        path: { client_id: await findClientId(api, client) }
      })
    print.done(`under attack is off on ${client ?? 'all clients'}`, { client: client ?? null })
  }
})

const list = defineCommand({
  name: 'under-attack list',
  summary:
    'List where the switch is on, and its end; the row without a client applies to clients that enroll.',
  args: Type.Object({}),
  run: async ({ api, print }) => print.data(await api.rows('GET /v1/under-attack'), columns)
})

export const commands = [on, off, list]
