// What happens to rules, for a plugin that keeps it. This plugin and those that need it tell; nothing is kept here.
import type { EntityManager } from '@mikro-orm/sql'
import { defineSlot, type SlotReader } from '../../kernel/slot.ts'
import type { RuleOwnership } from './fields/rule-field.ts'

/** One rule, all rules of an owner on a client, or all rules of a client. */
export type JournalSubject = { readonly rule: string } | RuleOwnership | Pick<RuleOwnership, 'clientId'>

/** Something that has happened to rules. */
export interface JournalEntry {
  readonly about: JournalSubject
  readonly kind: string // 'state', 'limit', 'target', 'quota', or the plugin's own; at most 16 characters
  readonly from: unknown // what it was, as JSON; null: nothing
  readonly to: unknown
  readonly cause: string | null // why: a code such as 'port_in_use', or 'request'
  readonly details?: Readonly<Record<string, unknown>>
  readonly at?: number // ms since 1970, where it happened earlier than now
}

/** Called in the transaction in which it happens, with the id of the request that led to it as the current one. */
export const journalEntrySlot =
  defineSlot<(note: JournalEntry, em: EntityManager) => Promise<void>>('rules.journal-entry')

export type AddJournalEntry = (note: JournalEntry, em: EntityManager) => Promise<void>

export const openJournalEntries =
  (filled: SlotReader): AddJournalEntry =>
  async (note, em) => {
    for (const { value: take } of filled(journalEntrySlot)) await take(note, em)
  }
