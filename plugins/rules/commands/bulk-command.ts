// `rule bulk ACTION` does the same as `rule ACTION`, for scripts that take the action as an argument.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../../kernel/cli/command.ts'
import { patchChange, pauseChange, removeChange } from './change-commands.ts'
import { loadEditableFields } from './editable-fields.ts'
import { addedFilters, changeSelected, type SelectionChange, selectionArgs } from './rule-selection.ts'

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

async function selectChange(api: Api, action: string, set: readonly string[]): Promise<SelectionChange> {
  if (action === 'set') return patchChange(api, (await loadEditableFields(api)).toPatch(set))
  return action === 'delete' ? removeChange(api) : pauseChange(api, action === 'pause' ? 'pause' : 'resume')
}
