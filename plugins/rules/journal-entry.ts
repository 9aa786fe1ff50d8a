// Journal entries say what happens to rules. This plugin and others add them; a filler of the slot stores them.
import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot, type SlotReader } from '../../kernel/slot.ts'
import type { RuleOwnership } from './fields/rule-field.ts'

/** One rule, all rules of an owner on a client, or all rules of a client. */
type JournalSubject = { readonly rule: string } | RuleOwnership | Pick<RuleOwnership, 'clientId'>

/** An event in the life of one or more rules. */
export interface JournalEntry {
  readonly about: JournalSubject
  readonly kind: string // 'state', 'limit', 'target', 'quota', or one that the plugin fills into `journalKindSlot`; at most 16 characters
  readonly from: unknown // the earlier value, as JSON; null: none
  readonly to: unknown
  readonly cause: string | null // a code such as 'port_in_use', or 'request'
  readonly details?: Readonly<Record<string, unknown>>
  readonly at?: number // ms since 1970; default: now
}

/** Called in the transaction of the event, under the id of the request that caused it. */
export const journalEntrySlot =
  defineSlot<(entry: JournalEntry, em: EntityManager) => Promise<void>>('rules.journal-entry')

/** A kind of entries of a plugin, so that a journal can be filtered by it. */
export const journalKindSlot = defineSlot<string>('rules.journal-kind')

const ownKinds = ['state', 'failover', 'target', 'limit', 'quota', 'edge', 'change']

/** Returns all kinds of entries. */
export const journalKinds = (filled: SlotReader): string[] => [
  ...ownKinds,
  ...filled(journalKindSlot).map(({ value }) => value)
]

export type AddJournalEntry = (entry: JournalEntry, em: EntityManager) => Promise<void>

export const openJournalEntries =
  (filled: SlotReader): AddJournalEntry =>
  async (entry, em) => {
    for (const { value: take } of filled(journalEntrySlot)) await take(entry, em)
  }
