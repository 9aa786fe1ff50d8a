import type { EntityManager } from '@mikro-orm/sql'
import type { ObjectKind } from '../../kernel/control/managed-objects.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { openPortLookup, type PortLookup } from './api/listening-rules.ts'
import { openPathQueries, type PathQueries } from './api/path-queries.ts'
import { type PageRow, queries, type RuleQueries } from './api/queries.ts'
import { openRuleReader, type RuleReader } from './api/rule-reader.ts'
import { withShownStates } from './api/shown-states.ts'
import { type ChangeRule, openChangeRule } from './changes/change-rule.ts'
import { type CreateRule, openCreateRule } from './changes/create-rule.ts'
import { type NormalizeRule, openNormalizeRule } from './changes/normalize-rule.ts'
import type { ClientScope } from './changes/placement.ts'
import { openRemoveRules, type RuleRemoval } from './changes/remove-rules.ts'
import { openUserChanges, type UserChanges } from './changes/user-changes.ts'
import { type ClosedRules, openClosedRules } from './delivery/closed-rules.ts'
import { openReconciliation, type Reconciliation } from './delivery/reconciliation.ts'
import { openRuleDelivery } from './delivery/rule-delivery.ts'
import { openRuleStates } from './delivery/rule-states.ts'
import { type ClientRemoval, openClientRemoval } from './derived/client-removal.ts'
import { openDerivedKinds } from './derived/derived-kind.ts'
import type { DerivedKinds } from './derived/derived-object.ts'
import { openDerivedParts } from './derived/derived-parts.ts'
import { type ExitTargetLimits, openExitTargetLimits } from './derived/exit-targets.ts'
import { withFollowers } from './derived/with-followers.ts'
import { Fields } from './fields/fields.ts'
import type { RuleCore } from './fields/rule-field.ts'
import { choosableClients } from './group-rules/chosen-clients.ts'
import { openMemberSync, type SyncMembers } from './group-rules/sync-members.ts'
import { type AddJournalEntry, journalKinds, openJournalEntries } from './journal-entry.ts'
import type { Services } from './services.ts'
import type { keys } from './settings.ts'
import { type AdmissionChange, admissionChangedSlot } from './slots.ts'

type ShownRow = Omit<PageRow, 'state'> & { readonly state: string }

/**
 * The service as other plugins use it. `create`, `change` and `remove` take the call of a request, or that of the service
 * `act`, and resolve when the agent has answered.
 */
export interface Rules
  extends Pick<RuleReader, 'find' | 'read' | 'list'>,
    Omit<RuleQueries, 'page'>,
    PathQueries,
    PortLookup,
    RuleRemoval,
    Pick<Reconciliation, 'refresh'>,
    DerivedKinds,
    ExitTargetLimits {
  readonly create: CreateRule
  readonly change: ChangeRule
  readonly syncMembers: SyncMembers
  readonly addJournalEntry: AddJournalEntry
  /** Returns all kinds of journal entries. */
  journalKinds(): readonly string[]
  /** Call it in the transaction that changes the clients on which a user may place rules. */
  admissionChanged(change: AdmissionChange, em: EntityManager): Promise<void>
  /** Returns the clients that a group rule can choose from. */
  choosableClients(rule: Pick<RuleCore, 'id' | 'owner' | 'isExempt'>, em: EntityManager): Promise<ClientScope>
  /** Returns up to `take` rules after the id `after`, in the order of creation, with the states that records show. */
  page(after: string, take: number, em: EntityManager): Promise<ShownRow[]>
}

/** The service as this plugin itself uses it. */
export interface RulesService extends Rules, UserChanges, ClientRemoval, Pick<RuleReader, 'listIds'> {
  readonly closedRules: ClosedRules
  readonly kind: ObjectKind
  readonly normalize: NormalizeRule
  /** Checks stored rules at the start of the server. */
  start(): Promise<void>
  /** Called when a client connects. */
  joined(peer: Peer): void
}

interface Deps extends Kernel<typeof keys> {
  readonly clients: Services['clients']
}

export function openRules({
  config,
  store,
  clock,
  control,
  codec,
  log,
  filled,
  clients
}: Deps): RulesService {
  const fields = new Fields(filled, codec)
  const closedRules = openClosedRules({ store, control })
  const parts = withFollowers(openDerivedParts({ config, control, filled, clients, store }), filled)
  const reader = openRuleReader({ store, filled, fields, closedRules, clients, parts })
  const addJournalEntry = openJournalEntries(filled)
  const states = openRuleStates({ control, clock, log, filled, closedRules, addJournalEntry, parts })
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
    parts,
    addJournalEntry,
    clients
  }
  const admissionChanged: Rules['admissionChanged'] = async (change, em) => {
    for (const { value: onChange } of filled(admissionChangedSlot)) await onChange(change, em)
  }
  const reconciliation = openReconciliation(services)
  const removal = openRemoveRules(services)
  return {
    ...reader,
    ...queries,
    ...openPathQueries(filled),
    ...openPortLookup({ filled, reader }),
    ...reconciliation,
    ...removal,
    ...openDerivedKinds(services),
    ...openExitTargetLimits(services),
    ...openClientRemoval({ ...removal, parts }),
    ...openUserChanges({ ...reconciliation, ...removal, admissionChanged }),
    admissionChanged,
    choosableClients: (rule, em) => choosableClients(services, rule, em),
    page: async (after, take, em) => withShownStates(filled, await queries.page(after, take, em), em),
    addJournalEntry,
    journalKinds: () => journalKinds(filled),
    closedRules,
    joined(peer) {
      closedRules.joined(peer)
      reconciliation.joined(peer)
    },
    kind: openRuleDelivery(services),
    syncMembers: openMemberSync(services),
    create: openCreateRule(services),
    normalize: openNormalizeRule(services),
    change: openChangeRule(services)
  }
}
