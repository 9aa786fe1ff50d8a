// The permissions of this agent as exit or relay of other clients, from its configuration.
import type { AgentExits } from './dial-contract.ts'

export interface ExitKeys {
  readonly allow_exit: boolean
  readonly exit_entries: readonly string[] // ids or names of clients; empty: all
}

export const openExits = (keys: () => ExitKeys): AgentExits => ({
  allows(entryId, entryName) {
    const { allow_exit, exit_entries } = keys()
    if (!allow_exit) return false
    return exit_entries.length === 0 || exit_entries.includes(entryId) || exit_entries.includes(entryName)
  }
})
