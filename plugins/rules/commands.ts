import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, type Column, defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg } from '../clients/command-exports.ts'
import { userIds } from '../users/command-exports.ts'
import type { RuleRecord } from './api/rule-record.ts'
import { columnSlot, pushOptionsSlot } from './command-slots.ts'
import { bulk, edit, editableFields, pause, removeChange, resume, set } from './commands/change-commands.ts'
import { rulesKind } from './commands/document-kind.ts'
import { findRule, RuleArg } from './commands/find-rule.ts'
import {
  formatAddress,
  formatClient,
  formatPort,
  isOnAllClients,
  printChanged,
  printRule
} from './commands/print-rule.ts'
import {
  hasProperties,
  IfOffline,
  nameArgs,
  parseTarget,
  queryText,
  rulePath,
  Wait
} from './commands/request-parts.ts'
import {
  addedFilters,
  changeSelected,
  filterArgs,
  listMatching,
  selectionArgs
} from './commands/rule-selection.ts'

/** Narrow terminals omit columns from the right: so the id, which commands can do without, comes last. */
const listColumns = (
  rules: readonly RuleRecord[],
  more: readonly Column<RuleRecord>[]
): readonly Column<RuleRecord>[] => [
  ...(rules.some(({ name }) => name != null) ? ['name'] : []),
  ['client_name', formatClient],
  ['port', formatPort],
  'state',
  ['targets', ({ targets }) => targets.map(formatAddress).join(', ')],
  ...more.filter(isHealth),
  ...more.filter(column => !isHealth(column)),
  'owner',
  'state_reason',
  'rule_id'
]

const isHealth = ([name]: Column<RuleRecord>): boolean => name === 'health'

const exitNotOnAll = 6 // the exit code for a rule that its only client refuses

const push = defineCommand({
  name: 'rule push',
  aliases: ['create'],
  summary: 'Create a rule: listen on a port of a client, and forward it.',
  examples: [
    'sluice rule push paris 8080 10.0.0.5:80',
    'sluice rule push paris 8000-8010 10.0.0.5:9000 --protocol udp --name games',
    'sluice rule push paris 443 10.0.0.5:443 10.0.0.6:443@9 --owner ann',
    'sluice rule push paris 443 lyon/10.0.0.5:443 rome/10.0.0.5:443@9',
    'sluice rule push paris 8080 10.0.0.5:80 --if-offline queue'
  ],
  args: Type.Object({
    client: ClientArg,
    listen: Type.String({ description: 'Port on the client, or a range such as 8000-8010.' }),
    target: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'host:port, host:port@priority or host:port@priority*weight; an IPv6 address in brackets; EXIT/ in front lets a client dial it; +key=value adds a property of a plugin. One or more.'
      })
    ),
    protocol: Type.Optional(Type.String({ description: 'tcp (default) or udp.' })),
    prefer_ipv6: Type.Optional(Type.Boolean({ description: 'Try the IPv6 addresses of a name first.' })),
    owner: Type.Optional(Type.String({ description: 'Id of the owner. Default: you.', ...userIds })),
    placed_by: Type.Optional(
      Type.String({
        description: 'Id of the user with the grants that limit the rule, for operators. Default: you.',
        ...userIds
      })
    ),
    paused: Type.Optional(Type.Boolean({ description: 'Keep the port, and forward nothing.' })),
    set: Type.Optional(
      Type.Array(Type.String(), { description: 'Other properties: key=value as in `rule set`.' })
    ),
    ...nameArgs,
    if_offline: IfOffline,
    ack_timeout_secs: Wait
  }),
  positional: ['client', 'listen', 'target'],
  reads: [pushOptionsSlot],
  extraArgs: filled => Object.assign({}, ...filled(pushOptionsSlot).map(({ value }) => value.args)),
  async run({ api, args, filled, print }) {
    const { protocol, prefer_ipv6, owner, placed_by, paused, name, description, set = [] } = args
    const options = filled(pushOptionsSlot).map(({ value }) => value)
    const isPlaced = options.some(({ places }) => places?.(args))
    const { client, listen, target = [] } = isPlaced ? withoutClient(args) : args
    if (target.length === 0) throw new Fault(wrongUsage, 'TARGET is missing: give host:port')
    const place = { client, protocol, prefer_ipv6, owner, ...parsePorts(listen) }
    const given = { placed_by, paused, name, description } // JSON omits what is not given
    const core = { ...place, targets: await parseTargets(api, target), ...given }
    const more = await Promise.all(options.map(({ body }) => body(args, api)))
    if (set.length > 0) more.push((await editableFields(api)).toPatch(set))
    const rule = await pushRule(api, Object.assign(core, ...more), args)
    printChanged(rule, print)
    return isOnAllClients(rule) ? 0 : exitNotOnAll
  }
})

/** Loads the types of the properties that plugins add to targets, if a target has one. */
async function parseTargets(api: Api, targets: readonly string[]) {
  const fields = targets.some(hasProperties) ? await editableFields(api) : null
  return targets.map(text => parseTarget(text, fields?.toTargetProperty))
}

/** Shifts the arguments if an option places the rule: then LISTEN is the first. */
const withoutClient = ({ client, listen, target = [] }: Positional) => ({
  client: undefined,
  listen: client ?? '',
  target: [listen, ...target]
})

interface Positional {
  readonly client?: string
  readonly listen: string
  readonly target?: readonly string[]
}

/** A refused rule is stored as failed and holds its port. A second push by the same user replaces it. */
async function pushRule(
  api: Api,
  body: object,
  { ack_timeout_secs, if_offline }: { readonly ack_timeout_secs?: number; readonly if_offline?: string }
): Promise<RuleRecord> {
  const query = queryText({ ack_timeout_secs })
  const whole = { ...body, ...(if_offline !== undefined && { if_offline }) }
  const first = await attempt(api.send<RuleRecord>('POST', `/v1/rules${query}`, whole))
  if (!(first instanceof Fault)) return first
  const id = first.details?.['rule_id']
  if (typeof id !== 'string') throw first
  if (first.details?.['rule_state'] === 'failed') throw storedAsFailed(first, id)
  if (!(await isOwnFailed(id, api))) throw first
  const again = await attempt(api.send<RuleRecord>('PUT', `${rulePath(id)}/definition${query}`, body))
  if (!(again instanceof Fault)) return again
  // Other ports or another owner make it a different rule: the failed rule only blocks its port.
  const { immutableField } = await import('./codes.ts')
  throw again.errorCode.code === immutableField.code ? first : storedAsFailed(again, id)
}

const attempt = <T>(reply: Promise<T>): Promise<T | Fault> =>
  reply.catch((error: unknown) => {
    if (error instanceof Fault) return error
    throw error
  })

async function isOwnFailed(id: string, api: Api): Promise<boolean> {
  const rule = await attempt(api.get<RuleRecord>(rulePath(id)))
  if (rule instanceof Fault || rule.state !== 'failed') return false
  return rule.placed_by === (await api.get<{ user_id: string }>('/v1/users/me')).user_id
}

const storedAsFailed = ({ errorCode, message, details }: Fault, id: string): Fault =>
  new Fault(
    errorCode,
    `${message}; rule ${id} is stored as failed and holds its port: fix the cause and push it again, or remove it`,
    { details: { ...details } }
  )

const list = defineCommand({
  name: 'rule list',
  summary: 'List the rules.',
  examples: [
    'sluice rule list --client paris --state failed',
    'sluice rule list --port 443',
    "sluice rule list -l 'env=prod,tier!=db'"
  ],
  args: Type.Object({
    ...filterArgs,
    name: Type.Optional(Type.String({ description: 'Only rules with this name.' })),
    port: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65_535, description: 'Only rules that listen on this port.' })
    )
  }),
  ...addedFilters,
  reads: [columnSlot, ...addedFilters.reads],
  async run(call) {
    const more = call.filled(columnSlot).map(({ value }) => value)
    const { name, port } = call.args
    const rules = await listMatching(call, { name, port })
    call.print.data(rules, listColumns(rules, more))
  }
})

const show = defineCommand({
  name: 'rule show',
  summary: 'Show one rule.',
  args: Type.Object({ rule: RuleArg }),
  positional: ['rule'],
  async run({ api, args, print }) {
    printRule(await findRule(api, args.rule), print)
  }
})

const remove = defineCommand({
  name: 'rule remove',
  aliases: ['delete'],
  summary: 'Close the ports of rules; their live connections may drain.',
  examples: [
    'sluice rule remove paris:8080 lyon/web',
    'sluice rule remove --client paris --state failed',
    'sluice rule remove -l env=staging --dry-run'
  ],
  args: Type.Object(selectionArgs),
  positional: ['rule'],
  ...addedFilters,
  run: call => changeSelected(call, removeChange(call.api))
})

export const commands = [push, list, show, set, edit, pause, resume, remove, bulk]
export const fills = [rulesKind]

/** Parses a port or a range such as 80-90. */
function parsePorts(listen: string) {
  const [, from, to] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(listen) ?? []
  if (from === undefined)
    throw new Fault(wrongUsage, `LISTEN ${listen} is neither a port nor a range such as 80-90`)
  return { listen_port: Number(from), ...(to !== undefined && { listen_port_end: Number(to) }) }
}
