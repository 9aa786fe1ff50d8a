import type { EntityManager } from '@mikro-orm/sql'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openListening } from './api/listening-rules.ts'
import { queries } from './api/queries.ts'
import { openReading } from './api/rule-reader.ts'
import { withShownStates } from './api/shown-states.ts'
import { openCreate } from './changes/create-rule.ts'
import { openPatch } from './changes/patch-rule.ts'
import { openRemoval } from './changes/remove-rules.ts'
import { openReplace } from './changes/replace-rule.ts'
import { openUpdate } from './changes/update-rule.ts'
import { openUserChanges } from './changes/user-changes.ts'
import { openClosings } from './delivery/closed-rules.ts'
import { openReconciliation } from './delivery/reconciliation.ts'
import { openDelivery } from './delivery/rule-delivery.ts'
import { openRuleStates } from './delivery/rule-states.ts'
import { Fields } from './fields/fields.ts'
import { openSettling } from './group-rules/settle-members.ts'
import { openNotes } from './journal-entry.ts'
import type { Services } from './services.ts'
import type { keys } from './settings.ts'

/** The service as this plugin itself uses it. */
export type RulesService = ReturnType<typeof openRules>

/**
 * The service as other plugins use it. `create`, `update`, `replace`, `patch` and `remove` take the call of a request, or that of the
 * service `act`, and answer when the agent has.
 */
export type Rules = Pick<
  RulesService,
  | 'find'
  | 'read'
  | 'list'
  | 'count'
  | 'allIds'
  | 'listeningOn'
  | 'seenClient'
  | 'ownershipOf'
  | 'ownersOn'
  | 'clientsOfOwner'
  | 'page'
  | 'partsOf'
  | 'shownIds'
  | 'settle'
  | 'matching'
  | 'create'
  | 'update'
  | 'patch'
  | 'replace'
  | 'remove'
  | 'removeAll'
  | 'refresh'
  | 'note'
>

export function openRules({ config, store, clock, control, codec, log, filled }: Kernel<typeof keys>) {
  const fields = new Fields(filled, codec)
  const closings = openClosings({ store, control })
  const reading = openReading({ store, filled, fields, closings })
  const note = openNotes(filled)
  const states = openRuleStates({ control, clock, log, filled, closings, note })
  const services: Services = { config, store, clock, control, log, filled, fields, reading, states, note }
  const reconciliation = openReconciliation(services)
  const removal = openRemoval(services)
  return {
    ...reading,
    ...queries,
    ...openListening({ filled, reading }),
    ...reconciliation,
    ...removal,
    ...openUserChanges({ ...reconciliation, ...removal }),
    /** Returns up to `take` rules after the id `after`, in the order of creation, with the states that are shown. */
    page: async (after: string, take: number, em: EntityManager) =>
      withShownStates(filled, await queries.page(after, take, em), em),
    note,
    closings,
    joined(peer: Peer): void {
      closings.joined(peer)
      reconciliation.joined(peer)
    },
    kind: openDelivery(services),
    settle: openSettling(services),
    create: openCreate(services),
    replace: openReplace(services),
    update: openUpdate(services),
    ...openPatch(services)
  }
}
