import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { earliest } from '../../kernel/base/clock.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import type { Rules } from '../rules/exports.ts'
import type { CommittedBytes, CommittedTarget } from '../stats/exports.ts'
import { foldSome } from './fold.ts'
import { type FoldQueue, openFoldQueue } from './fold-queue.ts'
import { save } from './pending.ts'
import { pruneAfter } from './prune.ts'
import { openQueries, type TrafficQueries } from './queries.ts'
import * as removedRules from './removed-rules.ts'
import * as series from './series.ts'

export interface Traffic extends TrafficQueries, FoldQueue {
  /** Saves committed counts in the ledger's transaction. Queries include them at once. */
  add(
    committed: readonly CommittedBytes[],
    em: EntityManager,
    targets: readonly CommittedTarget[]
  ): Promise<[]>
  /** Renames the series of a deleted user, in the transaction that deletes the user. */
  disown(userId: string, em: EntityManager): Promise<void>
  /** Call it in the transaction that deletes the rule. */
  ruleRemoved(rule: Parameters<typeof removedRules.remember>[0], em: EntityManager): Promise<void>
  /** Deletes samples beyond their retention, in short transactions. */
  prune(): Promise<void>
  /** Finds rules that were deleted while this plugin was off. */
  start(): Promise<void>
}

interface Deps extends Kernel {
  readonly clients: Clients
  readonly rules: Rules
}

export function openTraffic(deps: Deps): Traffic {
  const { store, clock, rules } = deps
  const { fold } = openFoldQueue(deps)

  async function add(
    committed: readonly CommittedBytes[],
    em: EntityManager,
    targets: readonly CommittedTarget[]
  ): Promise<[]> {
    await save(committed, targets, em, clock.now())
    return []
  }

  /** Saved counts with the user's id are folded first. No user id begins with `~`. */
  async function disown(userId: string, em: EntityManager): Promise<void> {
    const nowSecs = Math.floor(earliest(clock) / 1000)
    for (let isMore = true; isMore; ) isMore = await foldSome(rules, nowSecs, em, userId)
    await series.disown(userId, `~${newId(clock.now())}`, em)
    await removedRules.disown(userId, em)
  }

  return {
    ...openQueries(deps, fold),
    add,
    disown,
    ruleRemoved: (rule, em) => removedRules.remember(rule, earliest(clock), em),
    fold,
    prune: () => prune(deps),
    start: () => store.change(em => removedRules.reconcile(rules, earliest(clock), em))
  }
}

/** Uses short transactions, so that heartbeats are answered in between. */
async function prune({ store, clock, log }: Pick<Kernel, 'store' | 'clock' | 'log'>): Promise<void> {
  try {
    for (let isMore = true; isMore; await setImmediate())
      isMore = await store.change(em => removedRules.pruneRemoved(earliest(clock), em))
    for (let after: number | null = 0; after !== null; await setImmediate()) {
      const from: number = after
      after = await store.change(em => pruneAfter(from, Math.floor(earliest(clock) / 1000), em))
    }
  } catch (error) {
    log.warn('traffic.not_tidied', `old samples were not deleted, retrying in an hour: ${String(error)}`)
  }
}
