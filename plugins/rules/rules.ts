import type { EntityManager } from '@mikro-orm/sql'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openPortLookup } from './api/listening-rules.ts'
import { queries } from './api/queries.ts'
import { openRuleReader } from './api/rule-reader.ts'
import { withShownStates } from './api/shown-states.ts'
import { openRuleChange } from './changes/change-rule.ts'
import { openCreate } from './changes/create-rule.ts'
import { openRemoval } from './changes/remove-rules.ts'
import { openUserChanges } from './changes/user-changes.ts'
import { openClosedRules } from './delivery/closed-rules.ts'
import { openReconciliation } from './delivery/reconciliation.ts'
import { openDelivery } from './delivery/rule-delivery.ts'
import { openRuleStates } from './delivery/rule-states.ts'
import { Fields } from './fields/fields.ts'
import { openMemberSync } from './group-rules/settle-members.ts'
import { openJournalEntries } from './journal-entry.ts'
import type { Services } from './services.ts'
import type { keys } from './settings.ts'

/** The service as this plugin itself uses it. */
export type RulesService = ReturnType<typeof openRules>

/**
 * The service as other plugins use it. `create`, `change` and `remove` take the call of a request, or that of the service
 * `act`, and resolve when the agent has answered.
 */
export type Rules = Pick<
  RulesService,
  | 'find'
  | 'read'
  | 'list'
  | 'count'
  | 'allIds'
  | 'findOnPort'
  | 'findVisibleClient'
  | 'loadScopes'
  | 'ownersOn'
  | 'clientsOfOwner'
  | 'page'
  | 'listMembers'
  | 'shownIds'
  | 'syncMembers'
  | 'matching'
  | 'create'
  | 'change'
  | 'remove'
  | 'removeAll'
  | 'refresh'
  | 'addJournalEntry'
>

export function openRules({ config, store, clock, control, codec, log, filled }: Kernel<typeof keys>) {
  const fields = new Fields(filled, codec)
  const closings = openClosedRules({ store, control })
  const reader = openRuleReader({ store, filled, fields, closings })
  const addJournalEntry = openJournalEntries(filled)
  const states = openRuleStates({ control, clock, log, filled, closings, addJournalEntry })
  const services: Services = {
    config,
    store,
    clock,
    control,
    log,
    filled,
    fields,
    reader,
    states,
    addJournalEntry
  }
  const reconciliation = openReconciliation(services)
  const removal = openRemoval(services)
  return {
    ...reader,
    ...queries,
    ...openPortLookup({ filled, reader }),
    ...reconciliation,
    ...removal,
    ...openUserChanges({ ...reconciliation, ...removal }),
    /** Returns up to `take` rules after the id `after`, in the order of creation, with the states that are shown. */
    page: async (after: string, take: number, em: EntityManager) =>
      withShownStates(filled, await queries.page(after, take, em), em),
    addJournalEntry,
    closings,
    joined(peer: Peer): void {
      closings.joined(peer)
      reconciliation.joined(peer)
    },
    kind: openDelivery(services),
    syncMembers: openMemberSync(services),
    create: openCreate(services),
    change: openRuleChange(services)
  }
}
