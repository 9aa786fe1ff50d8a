import { Type, Yes } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { addedArgs, addedBody, recordOptionSlots } from '../http/command-exports.ts'
import { printCommand } from './print-command.ts'

const KeyArg = Type.String({ description: 'Id of the key.', values: ['/v1/enrollment-keys', 'key_id'] })

const columns = [
  'key_id',
  'label',
  'state',
  'used',
  'uses',
  'clients',
  'pending_clients',
  'expires_at',
  'approve',
  'ephemeral_secs'
] as const

const create = defineCommand({
  name: 'client key create',
  summary: 'Make a key that enrolls several hosts, each under its host name.',
  examples: [
    "sluice client key create 'web servers' --uses 50 --approve",
    'sluice client key create ci --ephemeral-secs 3600 --expires-at 2027-01-31T12:00:00Z'
  ],
  args: Type.Object({
    title: Type.String({ description: 'What the key is for; its label in lists and in the audit log.' }),
    uses: Type.Optional(
      Type.Integer({ description: 'How many hosts can enroll, 1 to 100000; default: no limit.' })
    ),
    expires_at: Type.Optional(
      Type.String({ description: 'When the key expires, RFC 3339; default: never.' })
    ),
    address: Type.Optional(
      Type.Union([Type.Literal('auto')], {
        description: 'auto: the public address of a client is the address from which its agent has enrolled.'
      })
    ),
    approve: Type.Optional(
      Type.Boolean({ description: 'Clients get no rules before sluice client approve.' })
    ),
    ephemeral_secs: Type.Optional(
      Type.Integer({
        description:
          'Delete a client, with its rules, that is disconnected for this time, 300 to 2592000; default: clients stay.'
      })
    )
  }),
  positional: ['title'],
  reads: [recordOptionSlots.enrollment],
  extraArgs: filled => addedArgs(filled(recordOptionSlots.enrollment)),
  async run({ api, args, filled, print }) {
    const { title: label, uses, expires_at, address, approve, ephemeral_secs } = args
    const added = addedBody(filled(recordOptionSlots.enrollment), args)
    const body = { label, uses, expires_at, address, approve, ephemeral_secs, ...added }
    const issued = await api.call('POST /v1/enrollment-keys', { body })
    printCommand(print, issued, ['key_id', 'label', 'uses', 'expires_at'])
  }
})

const list = defineCommand({
  name: 'client key list',
  summary: 'List the enrollment keys.',
  run: async ({ api, print }) => print.data(await api.rows('GET /v1/enrollment-keys'), columns)
})

const remove = defineCommand({
  name: 'client key delete',
  summary: 'Delete an enrollment key; its clients stay.',
  args: Type.Object({ key: KeyArg, yes: Yes }),
  positional: ['key'],
  async run({ api, args: { key: key_id }, confirm, print }) {
    const { label } = await api.call('GET /v1/enrollment-keys/{key_id}', { path: { key_id } })
    await confirm(`Delete the enrollment key ${label} (${key_id})?`, {
      losses: async () => ['further hosts cannot enroll with it; its clients stay']
    })
    await api.call('DELETE /v1/enrollment-keys/{key_id}', { path: { key_id } })
    print.done(`the enrollment key ${label} (${key_id}) is deleted`, { key_id, label, deleted: true })
  }
})

export const keyCommands = [create, list, remove]
