// `rule set`, `rule edit`, `rule pause`, `rule resume` and `rule bulk`.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../../kernel/cli/command.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { makeMergePatch } from './document.ts'
import type { EditableFields } from './editable-fields.ts'
import { findRule, findRuleId, RuleArg, ruleValues } from './find-rule.ts'
import { printChanged } from './print-rule.ts'
import { Existing, nameArgs, queryText, rulePath, Wait } from './request-parts.ts'
import { addedFilters, changeSelected, type SelectionChange, selectionArgs } from './rule-selection.ts'

/** Splits 'RULE... key=value...'. Options are assignments, too. */
function splitWords(words: readonly string[], options: Readonly<Record<string, string | undefined>>) {
  const rule = words.filter(word => !word.includes('='))
  const assignments = [
    ...words.filter(word => word.includes('=')),
    ...Object.entries(options).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${value}`]))
  ]
  if (assignments.length === 0)
    throw new Fault(
      wrongUsage,
      'say what to set: key=value after the rules or a filter, --name or --description'
    )
  return { rule, assignments }
}

export const set = defineCommand({
  name: 'rule set',
  summary: 'Change properties of rules while they run.',
  examples: [
    'sluice rule set web targets=10.0.0.8:443,10.0.0.9:443@9',
    'sluice rule set paris:8443 --name web --description "the shop"',
    'sluice rule set paris/web listen_port=9443 rate_limit.bandwidth_in_bps=1M',
    'sluice rule set web sni_pattern= --existing drain',
    'sluice rule set -l app=web targets=10.0.0.8:443 labels.color=green --atomic'
  ],
  args: Type.Object({
    ...selectionArgs,
    rule: Type.Array(Type.String(), {
      minItems: 1,
      description:
        'Rules, or a filter; then key=value, with keys as in `rule show`. key= removes the value; rate_limit.KEY sets a part.',
      ...ruleValues
    }),
    ...nameArgs,
    existing: Existing
  }),
  positional: ['rule'],
  ...addedFilters,
  async run(call) {
    const { api, args, print } = call
    const { name, description } = args
    const { rule, assignments } = splitWords(args.rule, { name, description })
    const patch = (await editableFields(api)).toPatch(assignments)
    const [only, other] = rule
    const { ack_timeout_secs, existing } = args
    if (only === undefined || other !== undefined || args.dry_run)
      return changeSelected({ ...call, args: { ...args, rule } }, patchChange(api, patch))
    printChanged(
      await api.send<RuleRecord>(
        'PATCH',
        `${rulePath(await findRuleId(api, only))}${queryText({ ack_timeout_secs, existing })}`,
        patch
      ),
      print
    )
  }
})

export const edit = defineCommand({
  name: 'rule edit',
  summary: 'Edit a rule as TOML in $VISUAL or $EDITOR, and change it while it runs.',
  examples: ['sluice rule edit web'],
  args: Type.Object({ rule: RuleArg, existing: Existing, ack_timeout_secs: Wait }),
  positional: ['rule'],
  async run(call) {
    const { api, args, print } = call
    const { rule, ...query } = args
    const { editText } = await import('./edit-text.ts')
    const record = await findRule(api, rule)
    const path = { rule_id: record.rule_id }
    const { keys, targetKeys } = await editableFields(api)
    const from = toEditable(record, keys, targetKeys)
    await editText(
      call,
      { name: record.rule_id, head: editorHead(record, keys, from), value: from },
      async to => {
        const body = makeMergePatch(from, to) as object | undefined
        if (body === undefined) return print.done(`rule ${rule} is unchanged`, path)
        const headers = { 'if-match': record.etag }
        print.data(await api.call('PATCH /v1/rules/{rule_id}', { path, query, body, headers }))
      }
    )
  }
})

const patchChange = (api: Api, patch: object): SelectionChange => ({
  verb: 'Change',
  done: 'changed',
  body: { action: 'patch', patch },
  one: (id, query) => api.send('PATCH', `${rulePath(id)}${query}`, patch)
})

const pauseChange = (api: Api, action: 'pause' | 'resume'): SelectionChange => ({
  verb: action === 'pause' ? 'Pause' : 'Resume',
  done: action === 'pause' ? 'paused' : 'resumed',
  body: { action },
  one: (id, query) => api.send('POST', `${rulePath(id)}/${action}${query}`)
})

export const removeChange = (api: Api): SelectionChange => ({
  verb: 'Remove',
  done: 'removed',
  body: { action: 'delete' },
  one: (id, query) => api.send('DELETE', `${rulePath(id)}${query}`)
})

const pauseCommand = (action: 'pause' | 'resume', summary: string) =>
  defineCommand({
    name: `rule ${action}`,
    summary,
    examples: [`sluice rule ${action} paris:8080`, `sluice rule ${action} -l env=staging`],
    args: Type.Object({ ...selectionArgs, existing: Existing }),
    positional: ['rule'],
    ...addedFilters,
    run: call => changeSelected(call, pauseChange(call.api, action))
  })

export const pause = pauseCommand('pause', 'Close the ports of rules, and keep the ports for them.')
export const resume = pauseCommand('resume', 'Open the ports of paused rules again.')

/** Does the same as `rule ACTION`, for scripts that take the action as an argument. */
export const bulk = defineCommand({
  name: 'rule bulk',
  summary: 'Pause, resume, delete or set many rules at once, as the commands of these names do.',
  examples: [
    'sluice rule bulk pause --selector env=staging --dry-run',
    "sluice rule bulk set --selector 'app=web,!old' --set targets=10.0.0.8:443 --atomic",
    'sluice rule bulk delete --rule web paris:8080'
  ],
  args: Type.Object({
    action: Type.Union(
      ['pause', 'resume', 'delete', 'set'].map(action => Type.Literal(action)),
      { description: 'pause, resume, delete or set.' }
    ),
    ...selectionArgs,
    set: Type.Optional(
      Type.Array(Type.String(), { description: 'For the action set: key=value as in `rule set`.' })
    )
  }),
  positional: ['action'],
  ...addedFilters,
  async run(call) {
    const { action, set = [] } = call.args
    if ((action === 'set') !== set.length > 0)
      throw new Fault(wrongUsage, 'give --set key=value with the action set, and with no other')
    await changeSelected(call, await selectChange(call.api, action, set))
  }
})

/** Loads the module at its first use, because other commands do not need it. */
export async function editableFields(api: Api): Promise<EditableFields> {
  const { loadEditableFields } = await import('./editable-fields.ts')
  return loadEditableFields(api)
}

async function selectChange(api: Api, action: string, set: readonly string[]): Promise<SelectionChange> {
  if (action === 'set') return patchChange(api, (await editableFields(api)).toPatch(set))
  return action === 'delete' ? removeChange(api) : pauseChange(api, action === 'pause' ? 'pause' : 'resume')
}

/** Returns the editable properties without null, which TOML does not have. */
function toEditable(
  record: RuleRecord,
  keys: readonly string[],
  targetKeys: readonly string[]
): Record<string, unknown> {
  const values = keys.flatMap(key => ((record[key] ?? null) === null ? [] : [[key, record[key]]]))
  const targets = record.targets.map(target =>
    Object.fromEntries(
      Object.entries(target).filter(
        ([key, value]) => targetKeys.includes(key) && value !== null && !(key === 'weight' && value === 1)
      )
    )
  )
  return { ...Object.fromEntries(values), targets }
}

function editorHead(record: RuleRecord, keys: readonly string[], present: object): string {
  const { rule_id, client_name, protocol, owner, state, state_reason: reason } = record
  const absent = keys.filter(key => !(key in present))
  return [
    `# Rule ${rule_id} of ${owner} on ${client_name}, ${protocol}: ${state}${reason === null ? '' : ` (${reason})`}.`,
    '# Save and close to change the rule while it runs. Without a change nothing is sent.',
    '# Delete a line to remove its value.',
    ...(absent.length > 0 ? [`# More properties: ${absent.join(', ')}.`] : [])
  ].join('\n')
}
