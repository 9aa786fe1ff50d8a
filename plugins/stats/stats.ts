import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import type { Call } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import type { Rules } from '../rules/exports.ts'
import { openActiveConnections } from './active-connections.ts'
import { epochsTold, openLedger } from './ledger.ts'
import { openMetrics } from './metrics.ts'
import { openReading } from './reading.ts'
import { openReports } from './reports.ts'
import { openRuleOwners, type RemovedRule } from './rule-owners.ts'
import type { Flags, RuleStats } from './schema.ts'
import { openSummary } from './summary.ts'
import { dropEnded, dropEpochs, dropSpans } from './tables.ts'
import { openWatch } from './watch.ts'

export type { JournalPosition } from './ledger.ts'
export type Stats = ReturnType<typeof openStats>

const spansKeptMs = 48 * 3_600_000 // what an agent may still say again; the totals hold them for ever
const endedKeptMs = 30 * 24 * 3_600_000 // longer than an agent keeps a journal after its last acknowledgement

export function openStats(deps: Kernel & { readonly clients: Clients; readonly rules: Rules }) {
  const { store, clock, log, codec, clients, rules } = deps
  const lives = openActiveConnections(deps)
  const holders = openRuleOwners(deps)
  const ledger = openLedger(deps, holders)
  const reports = openReports({ store, clock, log, codec, ledger, lives })
  const ofRule = openReading({ store, rules, lives })
  const watch = openWatch(deps)
  const summary = openSummary({ store, clients, rules, lives })

  /** Refuses before the first event, as `ofRule` does. */
  async function watchRule(id: string, wanted: Static<typeof Flags>, { principal, signal }: Call) {
    const read = (): Promise<RuleStats> => ofRule(id, wanted, principal)
    return watch.events(id, await read(), read, signal)
  }

  /** In short transactions, with a breath between them: the thread answers heartbeats, too. */
  async function tidy(): Promise<void> {
    try {
      const before = Math.floor((clock.now() - spansKeptMs) / 1000)
      for (let isMore = true; isMore; await setImmediate())
        isMore = await store.change(em => dropSpans(before, em))
      const ended = clock.now() - endedKeptMs
      for (let isMore = true; isMore; await setImmediate())
        isMore = await store.change(em => dropEnded(ended, em))
      await store.change(em => dropEpochs(epochsTold, ended, em))
    } catch (error) {
      log.warn('stats.not_tidied', `tried again in an hour: ${String(error)}`)
    }
  }

  return {
    ...reports,
    ofRule,
    watchRule,
    summary,
    mark: ledger.mark,
    metrics: openMetrics({ store, rules, lives }),
    tidy,
    async removed(rule: RemovedRule, em: EntityManager): Promise<void> {
      await holders.removed(rule, em)
      watch.wake(rule.id) // its read waits for the end of this transaction
    },
    disown: holders.disown,
    start: () => store.change(holders.sweep),
    release: lives.release
  }
}
