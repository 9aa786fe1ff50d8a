// Hooks that mark a change: a client connects or disconnects, a request changes a record, a rule changes its state, a user
// may use other clients.
import type { ConnectionHooks } from '../../kernel/control/peers.ts'
import type { DecisionSink } from '../http/exports.ts'
import type { AdmissionChange, JournalEntry, StateChange } from '../rules/exports.ts'
import type { ChangeCounter } from './change-counter.ts'

interface Deps {
  readonly changes: ChangeCounter
}

export const markConnections = ({ changes }: Deps): ConnectionHooks => ({
  joined: ({ clientId }) => changes.mark({ client: clientId }),
  left: ({ clientId }) => changes.mark({ client: clientId })
})

/** Marks allowed requests twice: at the decision, and when the agent has answered. Denied requests change nothing. */
export const markDecisions = ({ changes }: Deps): DecisionSink => ({
  async write({ outcome, actor, resourceKind, resourceId }) {
    if (outcome !== 'allow') return
    changes.mark(actor === null ? 'overseers' : { user: actor })
    if (resourceKind === 'client' && resourceId !== null) changes.mark({ client: resourceId })
  },
  complete: async () => changes.mark('overseers')
})

export const markJournalEntries =
  ({ changes }: Deps) =>
  async ({ about }: JournalEntry): Promise<void> =>
    changes.mark('owner' in about ? { user: about.owner } : 'overseers')

export const markRuleStates =
  ({ changes }: Deps) =>
  async ({ owner }: StateChange): Promise<void> =>
    changes.mark({ user: owner })

export const markAdmissions =
  ({ changes }: Deps) =>
  async ({ userId }: AdmissionChange): Promise<void> =>
    changes.mark({ user: userId })
