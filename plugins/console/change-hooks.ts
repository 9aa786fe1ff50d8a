// Hooks that mark a change: a client connects or disconnects, a request changes a record, a rule changes its state.
import type { ConnectionHooks } from '../../kernel/control/peers.ts'
import type { DecisionSink } from '../http/exports.ts'
import type { JournalEntry, StateChange } from '../rules/exports.ts'
import type { ChangeCounter } from './change-counter.ts'

interface Deps {
  readonly changes: ChangeCounter
}

export const markConnections = ({ changes }: Deps): ConnectionHooks => ({
  joined: () => changes.mark('everybody'),
  left: () => changes.mark('everybody')
})

/** Marks allowed requests twice: at the decision, and when the agent has answered. Denied requests change nothing. */
export const markDecisions = ({ changes }: Deps): DecisionSink => ({
  async write({ outcome, actor }) {
    if (outcome === 'allow') changes.mark(actor === null ? 'superadmins' : { user: actor })
  },
  complete: async () => changes.mark('superadmins')
})

export const markJournalEntries =
  ({ changes }: Deps) =>
  async ({ about }: JournalEntry): Promise<void> =>
    changes.mark('owner' in about ? { user: about.owner } : 'superadmins')

export const markRuleStates =
  ({ changes }: Deps) =>
  async ({ owner }: StateChange): Promise<void> =>
    changes.mark({ user: owner })
