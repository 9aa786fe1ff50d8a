// The parts of this plugin that commands of other plugins may use. Nothing of the server is loaded with them.
import type { Api } from '../../kernel/cli/command.ts'
import { defineSlot } from '../../kernel/slot.ts'

interface Given {
  readonly uri: string // of the enrollment
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Returns a command that installs and enrolls an edge host which has no sluice yet; null: there is none. */
export type InstallLine = (api: Api, given: Given) => Promise<string | null>

export const installSlot = defineSlot<InstallLine>('enrollment.install')
