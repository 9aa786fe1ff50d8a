// The parts of the plugin that give paths to rules.
import { changedSlot, removalErrorSlot } from '../../clients/exports.ts'
import type { Rules } from '../../rules/exports.ts'
import { refreshEntryName } from './entry-name.ts'
import { type Deps as ExitDeps, exitInUse, exitParts } from './exit-object.ts'
import { invalidVia, type Deps as ViaDeps, viaFields } from './via-field.ts'

export interface PathDeps extends ViaDeps, ExitDeps {
  readonly rules: ExitDeps['rules'] & Pick<Rules, 'refresh'>
}

export const pathCodes = [invalidVia, exitInUse]

export const pathFills = [
  ...viaFields,
  ...exitParts,
  removalErrorSlot.fill(exitInUse),
  changedSlot.fillWith(({ rules }: PathDeps) => refreshEntryName(rules))
]
