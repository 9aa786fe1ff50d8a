// The parts of the plugin that give paths to rules.
import { changedSlot, removalErrorSlot } from '../../clients/exports.ts'
import { connectionPathsSlot, pathExplainerSlot, type Rules } from '../../rules/exports.ts'
import type { LinkReports } from '../state/link-reports.ts'
import { openConnectionPaths } from './connection-paths.ts'
import { refreshEntryName } from './entry-name.ts'
import { type Deps as ExitDeps, exitInUse, exitParts } from './exit-object.ts'
import { openPathExplainer } from './path-explainer.ts'
import { pendingPath } from './pending-path.ts'
import { invalidVia, type Deps as ViaDeps, viaFields } from './via-field.ts'

export interface PathDeps extends ViaDeps, ExitDeps {
  readonly linkReports: Pick<LinkReports, 'of'>
  readonly rules: ExitDeps['rules'] & Pick<Rules, 'refresh' | 'matching' | 'deniedClients'>
}

export const pathCodes = [invalidVia, exitInUse]

export const pathFills = [
  ...viaFields,
  ...exitParts,
  pendingPath,
  pathExplainerSlot.fillWith((deps: PathDeps) => openPathExplainer(deps)),
  connectionPathsSlot.fillWith((deps: PathDeps) => openConnectionPaths(deps)),
  removalErrorSlot.fill(exitInUse),
  changedSlot.fillWith(({ rules }: PathDeps) => refreshEntryName(rules))
]
