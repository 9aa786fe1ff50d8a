// `rule bulk`: many rules are changed by one request.
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type, Yes } from '../../kernel/cli/args.ts'
import { type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { queryOf, Wait } from './command-parts.ts'
import { editableOf } from './editable.ts'
import { ruleIds } from './rule-argument.ts'

interface Result {
  readonly rule_id: string
  readonly status: number
  readonly error?: { readonly code: string; readonly message: string }
}

interface Reply {
  readonly matched: number
  readonly results: readonly Result[]
}

export const bulk = defineCommand({
  name: 'rule bulk',
  summary: 'Pause, resume, delete or set many rules at once.',
  examples: [
    'sluice rule bulk pause --selector env=staging --dry-run',
    "sluice rule bulk set --selector 'app=web,!old' --set targets=10.0.0.8:443 --atomic",
    'sluice rule bulk delete --rule 01K9ZJ4M5N6P7Q8R9S0TABCDEF 01K9ZJ4M5N6P7Q8R9S0TABCDEG'
  ],
  args: Type.Object({
    action: Type.Union(
      ['pause', 'resume', 'delete', 'set'].map(action => Type.Literal(action)),
      { description: 'pause, resume, delete or set.' }
    ),
    rule: Type.Optional(
      Type.Array(Type.String(), { description: 'rule_ids, in place of a selector.', ...ruleIds })
    ),
    selector: Type.Optional(
      Type.String({ description: "Rules whose labels match: 'env=prod,tier!=db,!old,zone in (a,b)'." })
    ),
    set: Type.Optional(
      Type.Array(Type.String(), { description: 'For the action set: key=value as in `rule set`.' })
    ),
    atomic: Type.Optional(Type.Boolean({ description: 'Change all of them, or none.' })),
    dry_run: Type.Optional(Type.Boolean({ description: 'Show what each change would answer; make none.' })),
    ack_timeout_secs: Wait,
    yes: Yes
  }),
  positional: ['action'],
  async run(call) {
    const { api, args, print, confirm } = call
    const { action, rule, selector, set = [], atomic, dry_run: isDry, ack_timeout_secs } = args
    if ((action === 'set') !== set.length > 0)
      throw new Fault(wrongUsage, 'give --set key=value with the action set, and with no other')
    const chosen = { ...(rule && { ids: rule }), ...(selector !== undefined && { selector }) }
    if (Object.keys(chosen).length !== 1)
      throw new Fault(wrongUsage, 'say which rules: either --rule or --selector')
    const patch = action === 'set' ? { patch: (await editableOf(api)).patchOf(set) } : {}
    const body = {
      ...chosen,
      action: action === 'set' ? 'patch' : action,
      ...patch,
      ...(atomic && { atomic })
    }
    const send = (more: object): Promise<Reply> =>
      api.send('POST', `/v1/rules/bulk${queryOf({ ack_timeout_secs })}`, { ...body, ...more })

    if (isDry) return show(await send({ dry_run: true }), print, 'would be changed')
    const { matched } = await send({ dry_run: true, atomic: false })
    if (matched === 0) return print.done('no rule matches', { matched, results: [] })
    await confirm(`${action} ${matched} rules?`, { elsewhere: 'refused' })
    show(await send({}), print, 'are changed')
  }
})

function show({ matched, results }: Reply, print: CommandCall<object>['print'], done: string): void {
  const refused = results.filter(({ error }) => error)
  if (refused.length > 0)
    print.data(
      refused.map(({ rule_id, status, error }) => ({
        rule_id,
        status,
        code: error?.code,
        message: error?.message
      }))
    )
  const changed = matched - refused.length
  print.done(`${changed} of ${matched} rules ${done}`, { matched, results })
}
