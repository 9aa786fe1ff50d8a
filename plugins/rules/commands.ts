import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type, Yes } from '../../kernel/cli/args.ts'
import { type Api, type Column, defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg, clientNames, findClientId } from '../clients/exports.ts'
import { addedArgs, addedQuery, listOptionSlots } from '../http/command-exports.ts'
import { UserArg, userIds } from '../users/command-exports.ts'
import { bulk } from './bulk-command.ts'
import { edit, pause, resume, set } from './change-commands.ts'
import { immutableField } from './codes.ts'
import { onEach, pathOf, queryOf, targetOf, Wait } from './command-parts.ts'
import { rulesKind } from './document-kind.ts'
import type { RuleRecord } from './record.ts'
import { RuleArg, ruleIds } from './rule-argument.ts'
import { columnSlot, pushOptionsSlot } from './slots.ts'

const columnsWith = (more: readonly Column<RuleRecord>[]): readonly Column<RuleRecord>[] => [
  'rule_id',
  'client_name',
  ['listen', listenOf],
  'state',
  ['targets', ({ targets }) => targets.map(hostAndPort).join(', ')],
  ...more,
  'owner',
  'state_reason'
]

const listenOf = ({ protocol, listen_port: from, listen_port_end: to }: RuleRecord): string =>
  `${protocol}/${from}${to === null ? '' : `-${to}`}`

const filter = {
  client: Type.Optional(Type.String({ description: 'Id or name of clients.', ...clientNames })),
  owner: Type.Optional(UserArg),
  state: Type.Optional(Type.String({ description: 'State, for example failed.' }))
}

interface Filter {
  readonly client?: string
  readonly owner?: string
  readonly state?: string
}

/** Throws where a client does not exist: no rule on it would look as if all was well. */
async function matching(
  api: Api,
  { client, owner, state }: Filter,
  more: Readonly<Record<string, string>> = {}
): Promise<readonly RuleRecord[]> {
  const given = { ...(client && { client }), ...(owner && { owner }), ...more }
  const query = new URLSearchParams(given).toString()
  const rules = await api.list<RuleRecord>(`/v1/rules${query && `?${query}`}`)
  if (rules.length === 0 && client !== undefined) await findClientId(api, client)
  return rules.filter(rule => state === undefined || rule.state === state)
}

const push = defineCommand({
  name: 'rule push',
  aliases: ['create'],
  summary: 'Create a rule: listen on a port of a client, and forward it.',
  examples: [
    'sluice rule push paris 8080 10.0.0.5:80',
    'sluice rule push paris 8000-8010 10.0.0.5:9000 --protocol udp',
    'sluice rule push paris 443 10.0.0.5:443 10.0.0.6:443@9 --owner ann',
    'sluice rule push paris 8080 10.0.0.5:80 --if-offline queue'
  ],
  args: Type.Object({
    client: ClientArg,
    listen: Type.String({ description: 'Port on the client, or a range such as 8000-8010.' }),
    target: Type.Array(Type.String(), {
      minItems: 1,
      description: 'host:port or host:port@priority; an IPv6 address in brackets.'
    }),
    protocol: Type.Optional(Type.String({ description: 'tcp (default) or udp' })),
    prefer_ipv6: Type.Optional(Type.Boolean({ description: 'Try the IPv6 addresses of a name first.' })),
    owner: Type.Optional(Type.String({ description: 'user_id; default is the caller.', ...userIds })),
    paused: Type.Optional(Type.Boolean({ description: 'Keep the port, and forward nothing.' })),
    if_offline: Type.Optional(
      Type.Union([Type.Literal('refuse'), Type.Literal('queue')], {
        description: 'Of a client that is away: refuse (default), or queue the rule until it is back.'
      })
    ),
    ack_timeout_secs: Wait
  }),
  positional: ['client', 'listen', 'target'],
  reads: [pushOptionsSlot],
  extraArgs: filled => Object.assign({}, ...filled(pushOptionsSlot).map(({ value }) => value.args)),
  async run({ api, args, filled, print }) {
    const { client, listen, target, protocol, prefer_ipv6, owner, paused } = args
    const place = { client, protocol, prefer_ipv6, owner, ...portsOf(listen) }
    const core = { ...place, targets: target.map(targetOf), ...(paused !== undefined && { paused }) }
    const more = filled(pushOptionsSlot).map(({ value }) => value.body(args))
    print.data(await pushed(api, Object.assign(core, ...more), args))
  }
})

/** A refused rule is stored as failed and holds its port: pushed again by who placed it, it is replaced. */
async function pushed(
  api: Api,
  body: object,
  { ack_timeout_secs, if_offline }: { readonly ack_timeout_secs?: number; readonly if_offline?: string }
): Promise<RuleRecord> {
  const query = queryOf({ ack_timeout_secs })
  const whole = { ...body, ...(if_offline !== undefined && { if_offline }) }
  const first = await attempt(api.send<RuleRecord>('POST', `/v1/rules${query}`, whole))
  if (!(first instanceof Fault)) return first
  const id = first.details?.['rule_id']
  if (typeof id !== 'string') throw first
  if (first.details?.['rule_state'] === 'failed') throw storedAsFailed(first, id)
  if (!(await isOwnFailed(id, api))) throw first
  const again = await attempt(api.send<RuleRecord>('PUT', `${pathOf(id)}/definition${query}`, body))
  if (!(again instanceof Fault)) return again
  // With other ports or another owner it is another rule, in whose way the failed one is.
  throw again.errorCode.code === immutableField.code ? first : storedAsFailed(again, id)
}

const attempt = <T>(reply: Promise<T>): Promise<T | Fault> =>
  reply.catch((error: unknown) => {
    if (error instanceof Fault) return error
    throw error
  })

async function isOwnFailed(id: string, api: Api): Promise<boolean> {
  const rule = await attempt(api.get<RuleRecord>(pathOf(id)))
  if (rule instanceof Fault || rule.state !== 'failed') return false
  return rule.placed_by === (await api.get<{ user_id: string }>('/v1/users/me')).user_id
}

const storedAsFailed = ({ errorCode, message, details }: Fault, id: string): Fault =>
  new Fault(
    errorCode,
    `${message}; rule ${id} is stored as failed and holds its port: mend the cause and push it again, or remove it`,
    { details: { ...details } }
  )

const list = defineCommand({
  name: 'rule list',
  summary: 'List the rules.',
  args: Type.Object(filter),
  reads: [columnSlot, listOptionSlots.rule],
  extraArgs: filled => addedArgs(filled(listOptionSlots.rule)),
  async run({ api, args, filled, print }) {
    const more = addedQuery(filled(listOptionSlots.rule), args)
    print.data(await matching(api, args, more), columnsWith(filled(columnSlot).map(({ value }) => value)))
  }
})

const show = defineCommand({
  name: 'rule show',
  summary: 'Show one rule.',
  args: Type.Object({ rule: RuleArg }),
  positional: ['rule'],
  run: async ({ api, args, print }) => print.data(await api.get<RuleRecord>(pathOf(args.rule)))
})

const remove = defineCommand({
  name: 'rule remove',
  aliases: ['delete'],
  summary: 'Close the ports of rules; their live connections may drain.',
  examples: [
    'sluice rule remove 01K9ZJ4M5N6P7Q8R9S0TABCDEF',
    'sluice rule remove --client paris --state failed'
  ],
  args: Type.Object({
    rule: Type.Optional(
      Type.Array(Type.String(), {
        description: 'rule_id; without one, --client, --owner or --state.',
        ...ruleIds
      })
    ),
    ...filter,
    ack_timeout_secs: Wait,
    yes: Yes
  }),
  positional: ['rule'],
  async run({ api, args, print, confirm }) {
    const ids = await chosen(api, args)
    if (!args.rule?.length && ids.length > 0)
      await confirm(`Remove ${ids.length} rules?`, { losses: async () => ids, elsewhere: 'refused' })
    const suffix = queryOf({ ack_timeout_secs: args.ack_timeout_secs })
    await onEach(ids, 'removed', id => api.send('DELETE', `${pathOf(id)}${suffix}`), print)
  }
})

async function chosen(api: Api, { rule = [], ...filter }: Filter & { readonly rule?: readonly string[] }) {
  const isFiltered = filter.client !== undefined || filter.owner !== undefined || filter.state !== undefined
  if (isFiltered === rule.length > 0)
    throw new Fault(
      wrongUsage,
      'give either RULE, several if you like, or a filter: --client, --owner, --state'
    )
  return isFiltered ? (await matching(api, filter)).map(({ rule_id: id }) => id) : [...new Set(rule)]
}

export const commands = [push, list, show, set, edit, pause, resume, remove, bulk]
export const fills = [rulesKind]

const hostAndPort = ({ host, port }: RuleRecord['targets'][number]): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Parses a port or a range such as 80-90. */
function portsOf(listen: string) {
  const [, from, to] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(listen) ?? []
  if (from === undefined)
    throw new Fault(wrongUsage, `LISTEN ${listen} is neither a port nor a range such as 80-90`)
  return { listen_port: Number(from), ...(to !== undefined && { listen_port_end: Number(to) }) }
}
