// Exports for commands of other plugins. They load no server code.
import type { Api } from '../../kernel/cli/command.ts'
import { defineSlot } from '../../kernel/slot.ts'

interface Given {
  readonly uri: string // of the enrollment
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Returns a command that installs and enrolls an edge host without sluice; null if there is none. */
export type InstallLine = (api: Api, given: Given) => Promise<string | null>

export const installSlot = defineSlot<InstallLine>('enrollment.install')
