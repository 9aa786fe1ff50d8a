import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg, findClient } from '../clients/command-exports.ts'
import { addedArgs, addedBody, recordOptionSlots } from '../http/command-exports.ts'
import { installSlot } from './command-exports.ts'
import { keyCommands } from './key-commands.ts'
import { printCommand } from './print-command.ts'

const Ttl = Type.Optional(Type.Integer({ description: 'Lifetime of the code in seconds, 1 to 86400.' }))

const columns = ['enrollment_id', 'client_name', 'expires_at']

const enroll = defineCommand({
  name: 'client enroll',
  summary: 'Make a one-time command that enrolls a new client.',
  examples: ['sluice client enroll paris --address edge1.example.com'],
  args: Type.Object({
    name: Type.String({ description: 'Name of the new client.' }),
    address: Type.Optional(Type.String({ description: 'Its public host, without a port.' })),
    ttl_secs: Ttl
  }),
  positional: ['name'],
  reads: [installSlot, recordOptionSlots.enrollment],
  extraArgs: filled => addedArgs(filled(recordOptionSlots.enrollment)),
  async run({ api, args, env, filled, print }) {
    const present = await Promise.all([api.rows('GET /v1/clients'), api.rows('GET /v1/client-enrollments')])
    const [client, code] = present.map(rows => rows.find(({ client_name: name }) => name === args.name))
    const { name, address, ttl_secs } = args
    const body = { name, address, ttl_secs, ...addedBody(filled(recordOptionSlots.enrollment), args) }
    const invitation = await api.call('POST /v1/client-enrollments', { body })
    if (client)
      print.note(`a client named ${args.name} exists already; to give it a new token: client re-enroll`)
    if (code) print.note(`another code for a client named ${args.name} is also valid`)
    for (const { value: lineOf } of filled(installSlot)) {
      const line = await lineOf(api, { uri: invitation.uri, env })
      if (line !== null) print.note(`On a host without sluice:\n${line}\nWith sluice:`)
    }
    printCommand(print, invitation, columns)
  }
})

const reEnroll = defineCommand({
  name: 'client re-enroll',
  summary: 'Make a one-time command that gives a client a new token.',
  args: Type.Object({ client: ClientArg, ttl_secs: Ttl }),
  positional: ['client'],
  async run({ api, args: { client, ...body }, print }) {
    const { client_id } = await findClient(api, client)
    const parts = { path: { client_id }, body }
    printCommand(print, await api.call('POST /v1/clients/{client_id}/enrollment', parts), columns)
  }
})

export const commands = [enroll, reEnroll, ...keyCommands]
