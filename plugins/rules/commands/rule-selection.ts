// Selects the rules that `rule pause`, `rule remove` and similar commands change: by id, or by filters.
import { Fault, limitReached, wrongUsage } from '../../../kernel/base/errors.ts'
import { Type, Yes } from '../../../kernel/cli/args.ts'
import type { Api, CommandCall, CommandDefinition } from '../../../kernel/cli/command.ts'
import { clientNames } from '../../clients/command-exports.ts'
import { addedArgs, addedQuery, listOptionSlots } from '../../http/command-exports.ts'
import { UserArg } from '../../users/command-exports.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { findRuleIds, requireExisting, ruleForms, ruleValues } from './find-rule.ts'
import { formatClient, formatListen } from './print-rule.ts'
import { queryText, Wait } from './request-parts.ts'

const maxRules = 1000 // in one request
const maxShown = 20

/** Filters of a list of rules. Plugins add more, such as `--selector`. */
export const filterArgs = {
  client: Type.Optional(Type.String({ description: 'Id or name of clients.', ...clientNames })),
  owner: Type.Optional(UserArg),
  via: Type.Optional(
    Type.String({ description: 'Id or name of a client on the path to a target.', ...clientNames })
  ),
  state: Type.Optional(
    Type.String({
      description:
        'State: pending, active, paused, failed, draining, partial, or one of a plugin, such as expired.'
    })
  )
}

export const addedFilters: Pick<CommandDefinition, 'extraArgs'> & {
  readonly reads: readonly (typeof listOptionSlots.rule)[]
} = {
  reads: [listOptionSlots.rule],
  extraArgs: filled => addedArgs(filled(listOptionSlots.rule))
}

/** The arguments of a command that changes rules. */
export const selectionArgs = {
  rule: Type.Optional(
    Type.Array(Type.String(), {
      description: `Rules, each as ${ruleForms}; or use filters such as --client.`,
      ...ruleValues
    })
  ),
  ...filterArgs,
  ack_timeout_secs: Wait,
  atomic: Type.Optional(Type.Boolean({ description: 'Change all of them, or none.' })),
  dry_run: Type.Optional(Type.Boolean({ description: 'Show what each change would answer; make none.' })),
  yes: Yes
}

interface Filter {
  readonly client?: string | undefined
  readonly owner?: string | undefined
  readonly via?: string | undefined
  readonly state?: string
}

interface RuleSelection extends Filter {
  readonly rule?: readonly string[]
  readonly ack_timeout_secs?: number
  readonly existing?: string
  readonly atomic?: boolean
  readonly yes?: boolean
  readonly dry_run?: boolean
}

type Call<A> = Pick<CommandCall<A>, 'api' | 'args' | 'filled' | 'print' | 'confirm'>

export interface SelectionChange {
  readonly verb: string // 'Pause', in the question
  readonly done: string // 'paused'
  readonly body: { readonly action: 'pause' | 'resume' | 'delete' | 'patch'; readonly patch?: object }
  /** Changes one rule with a single request. */
  one(id: string, query: string): Promise<unknown>
}

interface Result {
  readonly rule_id: string
  readonly rule_name?: string
  readonly status: number
  readonly error?: { readonly code: string; readonly message: string }
}

/** Returns the rules that match the filters, with `more` parameters of the list. Throws if client, owner or state does not exist: an empty list would hide the mistake. */
export async function listMatching(
  { api, args, filled }: Pick<Call<Filter>, 'api' | 'args' | 'filled'>,
  more: Parameters<typeof queryText>[0] = {}
) {
  const { client, owner, via, state } = args
  const given = { client, owner, via, state, ...more, ...addedQuery(filled(listOptionSlots.rule), args) }
  const rules = await api.list<RuleRecord>(`/v1/rules${queryText(given)}`)
  if (rules.length === 0)
    for (const filter of [{ client, owner }, { client: via }]) await requireExisting(api, filter)
  return rules
}

/**
 * Changes the selected rules; filters need a confirmation that lists the matches. A refusal does not stop the other rules:
 * in the end it throws, with the code of the first refusal.
 */
export async function changeSelected(call: Call<RuleSelection>, change: SelectionChange): Promise<void> {
  const { api, args, print } = call
  const ids = await selectIds(call, change)
  const { ack_timeout_secs, existing, atomic, dry_run: isDry } = args
  const query = queryText({ ack_timeout_secs, existing })
  const [only] = ids
  if (only === undefined) return print.done('no rule matches', { [change.done]: [], refused: [] })
  if (ids.length === 1 && !isDry) {
    await change.one(only, query)
    return print.done(`rule ${args.rule?.[0] ?? only} is ${change.done}`, { [change.done]: ids, refused: [] })
  }
  const send = async (more: object): Promise<readonly Result[]> => {
    const body = { ids, ...change.body, ...more }
    return (await api.send<{ results: readonly Result[] }>('POST', `/v1/rules/bulk${query}`, body)).results
  }
  if (!isDry && !atomic && !args.yes) await confirmRest(await send({ dry_run: true }), call, change)
  const results = await send({ ...(atomic && { atomic }), ...(isDry && { dry_run: true }) })
  await report(results, { api, print }, isDry ? `would be ${change.done}` : `are ${change.done}`, change.done)
}

async function selectIds(
  { api, args, filled, print: _, confirm }: Call<RuleSelection>,
  { verb }: SelectionChange
) {
  const { rule = [], client, owner, via, state } = args
  const more = Object.keys(addedQuery(filled(listOptionSlots.rule), args))
  const isFiltered = more.length > 0 || [client, owner, via, state].some(given => given !== undefined)
  if (isFiltered === rule.length > 0)
    throw new Fault(wrongUsage, 'give either RULE (one or more) or a filter, such as --client or --state')
  if (!isFiltered) return findRuleIds(api, rule)
  const rules = (await listMatching({ api, args, filled })).filter(rule => rule.state !== 'draining')
  if (rules.length > maxRules)
    throw new Fault(
      limitReached,
      `${rules.length} rules match; at most ${maxRules} can change at once: choose fewer, for example by --client`
    )
  if (rules.length > 0 && !args.dry_run)
    await confirm(`${verb} ${rules.length} rule${rules.length === 1 ? '' : 's'}?`, {
      losses: async () => ruleLines(rules),
      unattended: 'refuse'
    })
  return rules.map(({ rule_id }) => rule_id)
}

/** Asks before a change that some of the rules would refuse. */
async function confirmRest(
  results: readonly Result[],
  { confirm }: Pick<Call<object>, 'confirm'>,
  { verb }: Pick<SelectionChange, 'verb'>
): Promise<void> {
  const refused = results.filter(({ error }) => error).map(formatRefusal)
  const left = results.length - refused.length
  if (refused.length === 0 || left === 0) return // with none left, the refusals are reported
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more)` : ''
  await confirm(`${refused[0]}${more}. ${verb} the other ${left}?`, { unattended: 'refuse' })
}

const formatRefusal = ({ rule_id: id, rule_name: name, error }: Result): string =>
  `${name === undefined ? id : `${name} (${id})`}  ${error?.code}: ${error?.message}`

function ruleLines(rules: readonly RuleRecord[]): string[] {
  const names = rules
    .slice(0, maxShown)
    .map(rule => `${rule.rule_id}  ${formatClient(rule)}  ${formatListen(rule)}  ${rule.state}`)
  return rules.length > maxShown ? [...names, `and ${rules.length - maxShown} more`] : names
}

async function report(
  results: readonly Result[],
  { api, print }: { readonly api: Api; readonly print: Call<object>['print'] },
  text: string,
  done: string
): Promise<void> {
  const refused = results.filter(({ error }) => error)
  const changed = results.filter(({ error }) => !error).map(({ rule_id }) => rule_id)
  const lines = refused.map(formatRefusal)
  const summary = `${changed.length} of ${results.length} rules ${text}`
  print.done([...lines, summary].join('\n'), { [done]: changed, refused })
  const [first] = refused
  if (!first?.error) return
  const { errorCode, message } = await api.refusal(first.status, first.error)
  if (results.length === 1) throw new Fault(errorCode, message)
  throw new Fault(
    errorCode,
    `${refused.length} of ${results.length} rules are refused; the first: ${message}`
  )
}
