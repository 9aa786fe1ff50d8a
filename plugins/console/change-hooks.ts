// What counts as a change: an edge comes or goes, a record is changed, something happens to a rule.
import type { ConnectionHooks } from '../../kernel/control/peers.ts'
import type { DecisionSink } from '../http/exports.ts'
import type { JournalEntry, StateChange } from '../rules/exports.ts'
import type { Changes } from './change-counter.ts'

interface Deps {
  readonly changes: Changes
}

export const connectionMarks = ({ changes }: Deps): ConnectionHooks => ({
  joined: () => changes.mark('everybody'),
  left: () => changes.mark('everybody')
})

/** Refused calls change nothing. A change that waits for an agent is marked again when the agent has answered. */
export const decisionMarks = ({ changes }: Deps): DecisionSink => ({
  async write({ outcome, actor }) {
    if (outcome === 'allow') changes.mark(actor === null ? 'nobody' : { user: actor })
  },
  complete: async () => changes.mark('nobody')
})

export const noteMarks =
  ({ changes }: Deps) =>
  async ({ about }: JournalEntry): Promise<void> =>
    changes.mark('owner' in about ? { user: about.owner } : 'nobody')

export const stateMarks =
  ({ changes }: Deps) =>
  async ({ owner }: StateChange): Promise<void> =>
    changes.mark({ user: owner })
