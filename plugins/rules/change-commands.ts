// Commands that change rules: `rule set`, `rule edit`, `rule pause` and `rule resume`.

import type { TObject, TSchema } from 'typebox'
import { exactValue } from '../../config/exact-value.ts'
import { parseQuantity } from '../../config/quantity.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { onEach, pathOf, queryOf, targetOf, Wait } from './command-parts.ts'
import { mergePatch } from './document.ts'
import type { RuleRecord } from './record.ts'
import { RuleArg, ruleIds } from './rule-argument.ts'
import { ruleFieldSlot } from './rule-field.ts'

const Existing = Type.Optional(
  Type.Union([Type.Literal('keep'), Type.Literal('drain'), Type.Literal('cut')], {
    description:
      'Live connections that the change leaves without a target, or with a paused rule: keep (default), drain or cut.'
  })
)

const change = { existing: Existing, ack_timeout_secs: Wait }

/** The schema of what may be set: loaded by a command that needs it, with TypeBox. */
const editable = async (filled: CommandCall<object>['filled']): Promise<TObject> =>
  (await import('./schema.ts')).editableBody(filled)

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
  reads: [ruleFieldSlot],
  async run({ api, args, filled, print }) {
    const { rule, assignment, ...query } = args
    const body = await patchOf(assignment, await editable(filled))
    print.data(await api.send<RuleRecord>('PATCH', `${pathOf(rule)}${queryOf(query)}`, body))
  }
})

export const edit = defineCommand({
  name: 'rule edit',
  summary: 'Edit a rule as TOML in $VISUAL or $EDITOR, and change it while it runs.',
  examples: ['sluice rule edit 01K9ZJ4M5N6P7Q8R9S0TABCDEF'],
  args: Type.Object({ rule: RuleArg, ...change }),
  positional: ['rule'],
  reads: [ruleFieldSlot],
  async run(call) {
    const { api, args, filled, print } = call
    const { rule, ...query } = args
    const { editText } = await import('./editor.ts')
    const path = { rule_id: rule }
    const record = await api.get<RuleRecord>(pathOf(rule))
    const keys = Object.keys((await editable(filled)).properties)
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

/** Returns the merge patch of assignments such as `rate_limit.concurrent_connections=5`. */
export async function patchOf(
  assignments: readonly string[],
  schema: TSchema
): Promise<Record<string, unknown>> {
  const { closestName } = await import('../../kernel/base/config.ts') // with TypeBox, as the schema
  const patch = {}
  for (const text of assignments) {
    const at = text.indexOf('=')
    if (at < 1) throw new Fault(wrongUsage, `${text} is not key=value`)
    const given = text.slice(0, at)
    assign(patch, given, schema, { given, text: text.slice(at + 1), closestName })
  }
  return patch
}

type Part = TSchema & {
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly patternProperties?: Readonly<Record<string, TSchema>>
  readonly anyOf?: readonly TSchema[]
}

interface Assignment {
  readonly given: string // the whole path
  readonly text: string
  readonly closestName: (word: string, names: readonly string[]) => string | null
}

function assign(patch: Record<string, unknown>, path: string, schema: TSchema, assignment: Assignment): void {
  const { given, text, closestName } = assignment
  const { properties = {}, patternProperties } = schema as Part
  // Keys of a map, such as labels, may have dots.
  const [key = '', ...rest] = patternProperties ? [path] : path.split('.')
  const part = properties[key] ?? Object.values(patternProperties ?? {})[0]
  if (!part) {
    const near = closestName(key, Object.keys(properties))
    const known = Object.keys(properties).join(', ') || 'it has no parts'
    throw new Fault(
      wrongUsage,
      `${given}: ${key} is unknown here; ${near ? `did you mean ${near}?` : `known: ${known}`}`
    )
  }
  const value = withoutNull(part)
  if (rest.length === 0) {
    patch[key] = text === '' ? null : toValue(value, key, text)
    return
  }
  const inner = Object(patch[key] ?? {})
  patch[key] = inner
  assign(inner, rest.join('.'), value, assignment)
}

/** Returns the alternative of a nullable schema that is not null. */
const withoutNull = (schema: TSchema): TSchema => {
  const options = (schema as Part).anyOf?.filter(one => Reflect.get(one, 'type') !== 'null') ?? []
  const [only] = options
  return only && options.length === 1 ? only : schema
}

function toValue(schema: TSchema, key: string, text: string): unknown {
  if (key === 'targets' && !text.startsWith('[')) return text.split(',').map(targetOf)
  const type = Reflect.get(schema, 'type')
  if (type === 'integer' && /_(bps|bytes)$/.test(key)) return parseQuantity(text) ?? exactValue(schema, text)
  if (type === 'string' || type === 'integer' || type === 'boolean') return exactValue(schema, text)
  try {
    return JSON.parse(text)
  } catch {
    return text // of a choice of words; the server says what it wants
  }
}

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
