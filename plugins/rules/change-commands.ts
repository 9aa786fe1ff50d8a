// Commands that change rules: `rule set`, `rule edit`, `rule pause` and `rule resume`.

import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { onEach, pathOf, queryOf, Wait } from './command-parts.ts'
import { mergePatch } from './document.ts'
import { editableOf } from './editable.ts'
import type { RuleRecord } from './record.ts'
import { RuleArg, ruleIds } from './rule-argument.ts'

const Existing = Type.Optional(
  Type.Union([Type.Literal('keep'), Type.Literal('drain'), Type.Literal('cut')], {
    description:
      'Live connections that the change leaves without a target, or with a paused rule: keep (default), drain or cut.'
  })
)

const change = { existing: Existing, ack_timeout_secs: Wait }

export const set = defineCommand({
  name: 'rule set',
  summary: 'Change properties of a rule while it runs.',
  examples: [
    'sluice rule set 01K9ZJ4M5N6P7Q8R9S0TABCDEF targets=10.0.0.8:443,10.0.0.9:443@9',
    'sluice rule set 01K9ZJ4M5N6P7Q8R9S0TABCDEF listen_port=9443 rate_limit.bandwidth_in_bps=1M',
    'sluice rule set 01K9ZJ4M5N6P7Q8R9S0TABCDEF sni_pattern= --existing drain'
  ],
  args: Type.Object({
    rule: RuleArg,
    assignment: Type.Array(Type.String(), {
      minItems: 1,
      description:
        'key=value, as `rule show` names them; key= takes the value away; rate_limit.KEY is a part.'
    }),
    ...change
  }),
  positional: ['rule', 'assignment'],
  async run({ api, args, print }) {
    const { rule, assignment, ...query } = args
    const body = (await editableOf(api)).patchOf(assignment)
    print.data(await api.send<RuleRecord>('PATCH', `${pathOf(rule)}${queryOf(query)}`, body))
  }
})

export const edit = defineCommand({
  name: 'rule edit',
  summary: 'Edit a rule as TOML in $VISUAL or $EDITOR, and change it while it runs.',
  examples: ['sluice rule edit 01K9ZJ4M5N6P7Q8R9S0TABCDEF'],
  args: Type.Object({ rule: RuleArg, ...change }),
  positional: ['rule'],
  async run(call) {
    const { api, args, print } = call
    const { rule, ...query } = args
    const { editText } = await import('./editor.ts')
    const path = { rule_id: rule }
    const record = await api.get<RuleRecord>(pathOf(rule))
    const { keys } = await editableOf(api)
    const from = editedOf(record, keys)
    await editText(call, { name: rule, head: headOf(record, keys, from), value: from }, async to => {
      const body = mergePatch(from, to) as object | undefined
      if (body === undefined) return print.done(`rule ${rule} is unchanged`, { rule_id: rule })
      const headers = { 'if-match': record.etag }
      print.data(await api.call('PATCH /v1/rules/{rule_id}', { path, query, body, headers }))
    })
  }
})

const pausing = (verb: 'pause' | 'resume', done: string, summary: string) =>
  defineCommand({
    name: `rule ${verb}`,
    summary,
    examples: [`sluice rule ${verb} 01K9ZJ4M5N6P7Q8R9S0TABCDEF`],
    args: Type.Object({
      rule: Type.Array(Type.String(), { minItems: 1, description: 'rule_id', ...ruleIds }),
      ...change
    }),
    positional: ['rule'],
    async run({ api, args, print }) {
      const { rule, ...query } = args
      await onEach(
        [...new Set(rule)],
        done,
        id => api.send('POST', `${pathOf(id)}/${verb}${queryOf(query)}`),
        print
      )
    }
  })

export const pause = pausing('pause', 'paused', 'Close the ports of rules, and keep the ports for them.')
export const resume = pausing('resume', 'resumed', 'Open the ports of paused rules again.')

/** Returns the properties that may be edited, as TOML has them: without null. */
function editedOf(record: RuleRecord, keys: readonly string[]): Record<string, unknown> {
  const values = keys.flatMap(key => ((record[key] ?? null) === null ? [] : [[key, record[key]]]))
  const targets = record.targets.map(({ host, port, priority }) => ({ host, port, priority }))
  return { ...Object.fromEntries(values), targets }
}

function headOf(record: RuleRecord, keys: readonly string[], present: object): string {
  const { rule_id, client_name, protocol, owner, state, state_reason: reason } = record
  const absent = keys.filter(key => !(key in present))
  return [
    `# Rule ${rule_id} of ${owner} on ${client_name}, ${protocol}: ${state}${reason === null ? '' : ` (${reason})`}.`,
    '# Save and close: what differs is changed while the rule runs. Without a change nothing is sent.',
    '# A line that is taken away takes the value away.',
    ...(absent.length > 0 ? [`# It may also have: ${absent.join(', ')}.`] : [])
  ].join('\n')
}
