// `rule bulk ACTION`: the same as `rule ACTION`, for scripts that choose the action.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../../kernel/cli/command.ts'
import { patching, pausing, removal } from './change-commands.ts'
import { editableOf } from './editable-fields.ts'
import { addsFilters, type Change, changeChosen, choosing } from './rule-selection.ts'

export const bulk = defineCommand({
  name: 'rule bulk',
  summary: 'Pause, resume, delete or set many rules at once, as the commands of these names do.',
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
    ...choosing,
    set: Type.Optional(
      Type.Array(Type.String(), { description: 'For the action set: key=value as in `rule set`.' })
    )
  }),
  positional: ['action'],
  ...addsFilters,
  async run(call) {
    const { action, set = [] } = call.args
    if ((action === 'set') !== set.length > 0)
      throw new Fault(wrongUsage, 'give --set key=value with the action set, and with no other')
    await changeChosen(call, await changeOf(call.api, action, set))
  }
})

async function changeOf(api: Api, action: string, set: readonly string[]): Promise<Change> {
  if (action === 'set') return patching(api, (await editableOf(api)).patchOf(set))
  return action === 'delete' ? removal(api) : pausing(api, action === 'pause' ? 'pause' : 'resume')
}
