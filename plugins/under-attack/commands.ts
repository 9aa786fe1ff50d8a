import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { secondsOf } from '../cli/command-exports.ts'
import { ClientArg, findClientId } from '../clients/exports.ts'

const columns = ['client_name', 'until', 'connections', 'new_connections', 'within_secs', 'made_by', 'reason']

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

const on = defineCommand({
  name: 'under-attack on',
  summary: 'Tighten the limits for each source on all rules of a client, or of every client, for a time.',
  examples: [
    'sluice under-attack on --for 2h --reason "flood since noon"',
    'sluice under-attack on --client paris'
  ],
  args: Type.Object({
    client: Type.Optional(ClientArg),
    for: Type.Optional(Type.String({ description: 'How long: 30s, 10m, 1h, 7d. Default 1h.' })),
    reason: Type.Optional(Type.String({ description: 'For those who look later.' })),
    connections: count('That a source may have open on rules without a limit for sources; default 20.'),
    new_connections: count('That it may begin there in --within-secs; default 20.'),
    within_secs: count('Of --new-connections; default 10.')
  }),
  async run({ api, args: { client, for: time, ...more }, print }) {
    const body = { ...more, ...(time !== undefined && { for_secs: secondsOf(time) }) }
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
  summary: 'Give rules their own limits back, on a client, or wherever the switch is on.',
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
  summary: 'List where the switch is on, and until when; the row without a client is for those that enroll.',
  args: Type.Object({}),
  run: async ({ api, print }) => print.data(await api.rows('GET /v1/under-attack'), columns)
})

export const commands = [on, off, list]
