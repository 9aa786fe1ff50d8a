import { Fault, roleRequired, wrongUsage } from '../../kernel/base/errors.ts'
import { Type, Yes } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'
import { clientNames, findClientId } from '../clients/command-exports.ts'
import {
  addedArgs,
  addedBody,
  addedColumns,
  addedQuery,
  listOptionSlots,
  recordOptionSlots
} from '../http/command-exports.ts'
import { UserArg } from '../users/command-exports.ts'
import { grantsKind } from './document-kind.ts'
import type { GrantRow } from './schema.ts'

const columns = [
  'grant_id',
  'user_id',
  'client_id',
  'client_name',
  'use',
  'listen_port_start',
  'listen_port_end',
  'protocols',
  'targets',
  'entries',
  'note',
  'source'
]

const create = defineCommand({
  name: 'grant create',
  summary: 'Let a user create rules on a client, or use it as an exit.',
  examples: [
    'sluice grant create ann paris 8000-8999',
    'sluice grant create ann paris 443 --target 10.0.0.0/8:443 db.example:5432',
    'sluice grant create ann office --exit --entry paris --target 10.0.0.0/8'
  ],
  args: Type.Object({
    user: UserArg,
    client: Type.String({ description: 'Id or unique name of a client, or * for all.', ...clientNames }),
    ports: Type.Optional(
      Type.String({ description: 'Listen ports: p, or a range such as 8000-8999. Not with --exit.' })
    ),
    exit: Type.Optional(
      Type.Boolean({ description: 'The client dials and forwards for rules of the user on other clients.' })
    ),
    entry: Type.Optional(
      Type.Array(Type.String(), {
        description: 'With --exit: clients of the rules, by id or unique name. Default: any.',
        ...clientNames
      })
    ),
    protocol: Type.Optional(Type.Array(Type.String(), { description: 'tcp (default), udp, or both.' })),
    target: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Allowed targets: addresses, CIDRs or names, optionally with :PORTS. Default: any.'
      })
    ),
    note: Type.Optional(Type.String({ description: 'Free text.' }))
  }),
  positional: ['user', 'client', 'ports'],
  reads: [recordOptionSlots.grant],
  extraArgs: filled => addedArgs(filled(recordOptionSlots.grant)),
  async run({ api, args, filled, print }) {
    const { user, client, protocol = ['tcp'], target, note } = args
    const body = {
      user_id: user,
      ...(client === '*' ? { client_id: client } : { client }),
      ...(args.exit ? await exitTerms(args, api) : listenTerms(args)),
      protocols: protocol,
      ...(target && { targets: target }),
      ...(note !== undefined && { note }),
      ...addedBody(filled(recordOptionSlots.grant), args)
    }
    print.data(await api.send<GrantRow>('POST', '/v1/grants', body))
  }
})

const list = defineCommand({
  name: 'grant list',
  summary: 'List the grants.',
  args: Type.Object({
    user: Type.Optional(UserArg),
    own: Type.Optional(Type.Boolean({ description: 'List your own grants; every role may.' }))
  }),
  reads: [listOptionSlots.grant],
  extraArgs: filled => addedArgs(filled(listOptionSlots.grant)),
  async run({ api, args, filled, print }) {
    const { user, own } = args
    const more = filled(listOptionSlots.grant)
    if (own && user !== undefined) throw new Fault(wrongUsage, 'give either --user or --own')
    const query = new URLSearchParams({
      ...(user !== undefined && { user_id: user }),
      ...addedQuery(more, args)
    })
    const path = `${own ? '/v1/users/me/grants' : '/v1/grants'}?${query}`
    print.data(await api.list<GrantRow>(path).catch(withHint), [...columns, ...addedColumns(more)])
  }
})

const grant = Type.String({ description: 'Id of the grant.', values: ['/v1/grants', 'grant_id'] })

const show = defineCommand({
  name: 'grant show',
  summary: 'Show one grant.',
  args: Type.Object({ grant }),
  positional: ['grant'],
  run: async ({ api, args, print }) =>
    print.data(await api.call('GET /v1/grants/{grant_id}', { path: { grant_id: args.grant } }))
})

const remove = defineCommand({
  name: 'grant delete',
  aliases: ['remove'],
  summary: 'Delete a grant, and the rules that no other grant allows.',
  args: Type.Object({ grant, yes: Yes }),
  positional: ['grant'],
  async run({ api, args: { grant }, print, confirm }) {
    await confirm(`Delete the grant ${grant}, and the rules that no other grant allows?`)
    print.data(await api.send<object>('DELETE', `/v1/grants/${encodeURIComponent(grant)}`))
  }
})

export const commands = [create, list, show, remove]
export const fills = [grantsKind]

function withHint(error: unknown): never {
  if (!(error instanceof Fault) || error.errorCode.code !== roleRequired.code) throw error
  throw new Fault(error.errorCode, `${error.message}; to list your own grants, add --own`, { cause: error })
}

interface GivenTerms {
  readonly ports?: string
  readonly entry?: readonly string[]
}

async function exitTerms({ ports, entry }: GivenTerms, api: Api) {
  if (ports !== undefined)
    throw new Fault(wrongUsage, `an exit grant has no listen ports: omit ${ports}, or --exit`)
  const entries = entry && (await Promise.all(entry.map(client => findClientId(api, client))))
  return { use: 'exit', ...(entries && { entries }) }
}

function listenTerms({ ports, entry }: GivenTerms) {
  if (entry !== undefined) throw new Fault(wrongUsage, '--entry needs --exit')
  if (ports === undefined) throw new Fault(wrongUsage, 'give PORTS, or --exit')
  return parsePorts(ports)
}

/** Parses 'p' or 'a-b'. */
function parsePorts(ports: string) {
  const [, from, to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(ports) ?? []
  if (from === undefined)
    throw new Fault(wrongUsage, `PORTS must be a port or a range such as 80-90, got ${ports}`)
  return { listen_port_start: Number(from), listen_port_end: Number(to) }
}
