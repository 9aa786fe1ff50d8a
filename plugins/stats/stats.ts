import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Static } from 'typebox'
import { CommittedEpochs, epochsSent, LastReport, welcomePart } from '../../agent/wire/journal-report.ts'
import { earliest } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { ConnectionHooks } from '../../kernel/control/peers.ts'
import type { Call } from '../../kernel/http/route.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Clients } from '../clients/exports.ts'
import type { Rules } from '../rules/exports.ts'
import { openActiveConnections } from './active-connections.ts'
import type { Stats as ExportedStats } from './exports.ts'
import { openLedger } from './ledger.ts'
import { openMetrics } from './metrics.ts'
import { openReportQueue } from './report-queue.ts'
import { openRuleOwners, type RemovedRule } from './rule-owners.ts'
import { openRuleStats } from './rule-stats.ts'
import type { Flags, RuleStats } from './schema.ts'
import { openStatsStream, type StatsEvent } from './stats-stream.ts'
import { openSummary } from './summary.ts'
import { pruneEnded, pruneEpochs, pruneSpans } from './tables.ts'

/** The service `stats` and the members that only this plugin's own routes and hooks use. */
export interface Stats extends ExportedStats {
  /** Streams the stats of a rule. Throws the same faults as `ofRule`, before the first event. */
  watchRule(id: string, flags: Static<typeof Flags>, call: Call): Promise<AsyncGenerator<StatsEvent>>
  readonly connection: ConnectionHooks
  readonly metrics: Metrics
  /** Deletes old rows in short transactions. */
  prune(): Promise<void>
  /** Call it in the transaction that deletes the rule. */
  ruleRemoved(rule: RemovedRule, em: EntityManager): Promise<void>
  /** Call it in the transaction that deletes the user. */
  disown(owner: string, em: EntityManager): Promise<void>
  /** Deletes the rows of clients and rules that were deleted while this plugin was off. */
  start(): Promise<void>
  readonly release: Release
}

const spanRetentionMs = 48 * 3_600_000 // agents may report spans again; the totals stay
const endedEpochRetentionMs = 30 * 24 * 3_600_000 // longer than agents keep their journal after its last acknowledgement

interface Services extends Kernel {
  readonly clients: Clients
  readonly rules: Rules
}

export function openStats(deps: Services): Stats {
  const { store, clock, log, codec, control, clients, rules } = deps
  const activeConnections = openActiveConnections(deps)
  const owners = openRuleOwners(deps)
  const ledger = openLedger({ clock, log, filled: deps.filled, owners, activeConnections })
  const queue = openReportQueue({ store, clock, log, control, ledger })
  const ofRule = openRuleStats({ store, rules, activeConnections })
  const stream = openStatsStream(deps)

  async function watchRule(id: string, flags: Static<typeof Flags>, { principal, signal }: Call) {
    const read = (): Promise<RuleStats> => ofRule(id, flags, principal)
    return stream.events(id, await read(), read, signal)
  }

  const requestReport: ExportedStats['requestReport'] = async (clientId, options) => {
    await control.peers.find(clientId)?.request(LastReport, {}, options)
  }

  const connection: ConnectionHooks = {
    async welcome({ clientId }) {
      const committed = await store.read(em => ledger.committedSeqs(clientId, em))
      return { [welcomePart]: codec.encode(CommittedEpochs, { committed }) }
    },
    joined({ clientId }) {
      activeConnections.joined(clientId)
      ledger.rowLimit.forget(clientId)
    },
    left: ({ clientId }) => activeConnections.left(clientId),
    async leaving(peer) {
      try {
        await peer.request(LastReport, {})
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        log.debug('stats.no_last_report', error.message, { client_id: peer.clientId })
      }
    }
  }

  return {
    ...queue,
    requestReport,
    ofRule,
    watchRule,
    summary: openSummary({ store, clients, rules, activeConnections }),
    connection,
    lastCommitted: ledger.lastCommitted,
    metrics: openMetrics({ store, rules, activeConnections }),
    prune: () => prune(deps).finally(ledger.rowLimit.reset),
    async ruleRemoved(rule: RemovedRule, em: EntityManager): Promise<void> {
      if (rule.clientId !== '') await owners.remember(rule, em) // only the members of a group rule have bytes
      stream.wake(rule.id) // its read waits for the end of this transaction
    },
    disown: owners.disown,
    start: () => store.change(owners.reconcile),
    release: activeConnections.release
  }
}

/** Uses short transactions, so that heartbeats are answered in between. */
async function prune({ store, clock, log }: Kernel): Promise<void> {
  try {
    const before = Math.floor((earliest(clock) - spanRetentionMs) / 1000)
    for (let isMore = true; isMore; await setImmediate())
      isMore = await store.change(em => pruneSpans(before, em))
    const ended = earliest(clock) - endedEpochRetentionMs
    for (let isMore = true; isMore; await setImmediate())
      isMore = await store.change(em => pruneEnded(ended, em))
    await store.change(em => pruneEpochs(epochsSent, ended, em))
  } catch (error) {
    log.warn('stats.not_tidied', `old rows were not deleted, retrying in an hour: ${String(error)}`)
  }
}
