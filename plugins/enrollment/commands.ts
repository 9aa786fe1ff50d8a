import { Type } from '../../kernel/cli/args.ts'
import { defineCommand, type Print } from '../../kernel/cli/command.ts'
import { ClientArg, findClient } from '../clients/exports.ts'
import { addedArgs, addedBody, recordOptionSlots } from '../http/command-exports.ts'
import { installSlot } from './command-exports.ts'
import type { Invitation } from './schema.ts'

const Ttl = Type.Optional(Type.Integer({ description: 'Lifetime of the code in seconds, 1 to 86400.' }))

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
      print.line(`a client named ${args.name} exists already; to give it a new token: client re-enroll`)
    if (code) print.line(`another code for a client named ${args.name} is also valid`)
    for (const { value: lineOf } of filled(installSlot)) {
      const line = await lineOf(api, { uri: invitation.uri, env })
      if (line !== null) print.line(`On a host without sluice:\n${line}\nWith sluice:`)
    }
    printInvitation(print, invitation)
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
    printInvitation(print, await api.call('POST /v1/clients/{client_id}/enrollment', parts))
  }
})

/** The command is the last line, so that a script can take it with `tail -n 1`. */
function printInvitation(print: Print, invitation: Invitation): void {
  if (/^svc:\/\/(127\.|localhost)/.test(invitation.uri))
    print.line(
      'only agents on the host of the server reach this address; for other hosts run sluice settings set-endpoint'
    )
  print.data(invitation, ['enrollment_id', 'client_name', 'expires_at'], invitation.command)
}

export const commands = [enroll, reEnroll]
