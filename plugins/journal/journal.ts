// Stores the events of rules, and lists them for principals that may read the rule.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { earliest } from '../../kernel/base/clock.ts'
import { currentRequestId } from '../../kernel/base/request-id.ts'
import type { ConnectionHooks, Peer } from '../../kernel/control/peers.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { JournalEntry, Rules } from '../rules/exports.ts'
import { boundedDetails, boundedJson, deleteBefore, deleteSubjects, toSubject } from './entries.ts'
import { type ListEntries, openEntryList } from './entry-list.ts'
import { openEntryWriter } from './entry-writer.ts'
import { openReports, type StoreReport } from './reports.ts'
import type { keys } from './settings.ts'
import { JournalEnabled, welcomePart } from './wire.ts'

export interface Services extends Kernel<typeof keys> {
  readonly rules: Rules
}

type AddEntry = (entry: JournalEntry, em: EntityManager) => Promise<void>

export interface Journal {
  /** Adds an entry in the transaction of its event. */
  readonly addEntry: AddEntry
  readonly connection: ConnectionHooks
  /** Deletes entries beyond the retention, in short transactions. */
  prune(): Promise<void>
  readonly report: StoreReport
  readonly list: ListEntries
  /** Call it in the transaction that deletes the rule. */
  forgetRule(rule: { readonly id: string }, em: EntityManager): Promise<unknown>
}

const dayMs = 24 * 3_600_000
const rowsPerChange = 1000

export function openJournal(deps: Services): Journal {
  const { store, clock, log, config } = deps
  const add = openEntryWriter(deps)

  const addEntry: AddEntry = ({ about, kind, from, to, cause, details = {}, at }, em) => {
    const now = clock.now()
    const requestId = currentRequestId.getStore() ?? null
    const values = { from: boundedJson(from), to: boundedJson(to), details: boundedDetails(details) }
    const ts = Math.min(at ?? now, now)
    return add({ id: newId(now), subject: toSubject(about), ts, kind, ...values, cause, requestId }, em)
  }

  async function prune(): Promise<void> {
    try {
      const before = earliest(clock) - config.journal_retention_days * dayMs
      while ((await store.change(em => deleteBefore(before, rowsPerChange, em))) === rowsPerChange)
        await setImmediate()
    } catch (error) {
      log.warn('journal.not_tidied', `old entries were not deleted, retrying in an hour: ${String(error)}`)
    }
  }

  return {
    addEntry,
    connection: openEdgeHooks(deps, addEntry),
    prune,
    report: openReports(deps, add),
    list: openEntryList(deps),
    forgetRule: ({ id }: { readonly id: string }, em: EntityManager) => deleteSubjects([id], em)
  }
}

/** Returns hooks that add an entry when a client connects or disconnects. */
function openEdgeHooks({ log, codec, control }: Services, addEntry: AddEntry): ConnectionHooks {
  const edge = (
    { clientId, change }: Pick<Peer, 'clientId' | 'change'>,
    entry: Pick<JournalEntry, 'from' | 'to' | 'cause' | 'details'>
  ): void =>
    void change(em => addEntry({ about: { clientId }, kind: 'edge', ...entry }, em)).catch(error => {
      if (error instanceof Refused) return // the client is on a peer server, which adds the entry
      log.warn('journal.not_written', String(error), { client: clientId })
    })

  return {
    welcome: async () => ({ [welcomePart]: codec.encode(JournalEnabled, {}) }),
    joined: peer =>
      edge(peer, {
        from: 'disconnected',
        to: 'connected',
        cause: null,
        details: { agent_version: peer.agentVersion }
      }),
    left(peer, reason) {
      const isReplaced = control.peers.find(peer.clientId) !== undefined
      if (reason === 'shutting_down' || isReplaced) return // an event of the server, not of the edge host
      edge(peer, { from: 'connected', to: 'disconnected', cause: reason.slice(0, 64) })
    }
  }
}
