// Keeps what happens to rules, and shows it to those who see the rule.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { earliest } from '../../kernel/base/clock.ts'
import { newId } from '../../kernel/base/id.ts'
import { currentRequestId } from '../../kernel/base/request-id.ts'
import type { ConnectionHooks, Peer } from '../../kernel/control/peers.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { JournalEntry, Rules } from '../rules/exports.ts'
import { boundedDetails, boundedJson, deleteBefore, deleteSubjects, toSubject } from './entries.ts'
import { openEntryList } from './entry-list.ts'
import { openEntryWriter } from './entry-writer.ts'
import { openReports } from './reports.ts'
import type { keys } from './settings.ts'
import { JournalEnabled, welcomePart } from './wire.ts'

export interface Services extends Kernel<typeof keys> {
  readonly rules: Rules
}

export type Journal = ReturnType<typeof openJournal>
type Take = (note: JournalEntry, em: EntityManager) => Promise<void>

const dayMs = 24 * 3_600_000
const rowsPerChange = 1000

export function openJournal(deps: Services) {
  const { store, clock, log, config } = deps
  const add = openEntryWriter(deps)

  const take: Take = ({ about, kind, from, to, cause, details = {}, at }, em) => {
    const now = clock.now()
    const requestId = currentRequestId.getStore() ?? null
    const values = { from: boundedJson(from), to: boundedJson(to), details: boundedDetails(details) }
    const ts = Math.min(at ?? now, now)
    return add({ id: newId(now), subject: toSubject(about), ts, kind, ...values, cause, requestId }, em)
  }

  /** Deletes what is too old. Each transaction is short. */
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
    take,
    connection: openEdgeHooks(deps, take),
    prune,
    report: openReports(deps, add),
    list: openEntryList(deps),
    forgetRule: ({ id }: { readonly id: string }, em: EntityManager) => deleteSubjects([id], em)
  }
}

/** Returns the hooks that note that an edge comes or goes. */
function openEdgeHooks({ log, codec, control }: Services, take: Take): ConnectionHooks {
  const edge = (
    { clientId, change }: Pick<Peer, 'clientId' | 'change'>,
    note: Pick<JournalEntry, 'from' | 'to' | 'cause' | 'details'>
  ): void =>
    void change(em => take({ about: { clientId }, kind: 'edge', ...note }, em)).catch(error => {
      if (error instanceof Refused) return // it is at another server: that one notes it
      log.warn('journal.not_written', String(error), { client: clientId })
    })

  return {
    welcome: async () => ({ [welcomePart]: codec.encode(JournalEnabled, {}) }),
    joined: peer =>
      edge(peer, {
        ...{ from: 'disconnected', to: 'connected', cause: null },
        details: { agent_version: peer.agentVersion }
      }),
    left(peer, reason) {
      const isReplaced = control.peers.find(peer.clientId) !== undefined
      if (reason === 'shutting_down' || isReplaced) return // the server's, not the edge's
      edge(peer, { from: 'connected', to: 'disconnected', cause: reason.slice(0, 64) })
    }
  }
}
