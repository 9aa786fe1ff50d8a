// The services that all operations on rules share.
import type { Call } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import type { RuleReader } from './api/rule-reader.ts'
import type { RuleStates } from './delivery/rule-states.ts'
import type { DerivedParts } from './derived/derived-parts.ts'
import type { Fields } from './fields/fields.ts'
import type { AddJournalEntry } from './journal-entry.ts'
import type { keys } from './settings.ts'

export interface Services
  extends Pick<Kernel<typeof keys>, 'config' | 'store' | 'clock' | 'control' | 'log' | 'filled'> {
  readonly fields: Fields
  readonly reader: RuleReader
  readonly states: RuleStates
  readonly parts: DerivedParts
  readonly addJournalEntry: AddJournalEntry
  readonly clients: Pick<Clients, 'pendingFaults' | 'visibleIds'>
}

export type Change = Pick<Call, 'principal' | 'change'>
