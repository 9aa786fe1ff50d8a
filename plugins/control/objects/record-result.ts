// Stores the agents' results in groups: one commit costs one sync of the disk, whatever the number of rows.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { attributionOf } from '../../../kernel/base/attribution.ts'
import type { Clock } from '../../../kernel/base/clock.ts'
import { Fault, stackOf, storeOutcomeUnknown, storeUnavailable } from '../../../kernel/base/errors.ts'
import type { ApplyResult, ManagedObject, ObjectKind } from '../../../kernel/control/managed-objects.ts'
import { ManagedObjectRow } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Cluster } from '../../servers/exports.ts'
import { cpuMsSince, type WorkBudgets } from '../listener/work-budget.ts'
import { objectKeyText, readRevisions } from './object-revisions.ts'
import type { PendingResults } from './pending-results.ts'

/** 'unknown': the store has no such object. 'outdated': it has another revision. 'failed': logged. */
type Outcome = 'recorded' | 'unknown' | 'outdated' | 'failed'
/** Resolves when the result from the session is on disk or was dropped. */
export type RecordResult = (row: ManagedObject, result: ApplyResult, sessionId: string) => Promise<Outcome>

interface Entry {
  readonly sessionId: string
  readonly kind: ObjectKind
  readonly row: ManagedObject
  readonly result: ApplyResult
  readonly done: (outcome: Outcome) => void
}
interface Written {
  readonly outcomes: ReadonlyMap<Entry, Outcome>
  readonly forPeers: ReadonlySet<Entry> // also stored for the servers that may wait for them
}

const groupSize = 64 // other requests wait for one group
const retryMs = 2_000 // while the store is unavailable

/** True if a retry may succeed. A change with an unknown outcome may be repeated, because it compares revisions. */
const isUnavailable = (error: unknown): boolean =>
  error instanceof Fault && (error.errorCode === storeUnavailable || error.errorCode === storeOutcomeUnknown)

interface Options extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly kinds: () => ReadonlyMap<string, ObjectKind>
  readonly pending: PendingResults
  readonly budgets: Pick<WorkBudgets, 'of'>
  readonly servers: Pick<Cluster, 'inForce' | 'storeResults' | 'signal' | 'watchResult'>
}

export function openRecordResult(options: Options): RecordResult {
  const { store, clock, log, kinds, pending, budgets, servers } = options
  const { notify, logFailed } = openNotices({ log, pending, servers })
  const queue: Entry[] = []
  let isWriting = false

  async function writeAll(): Promise<void> {
    if (isWriting) return
    isWriting = true
    while (queue.length > 0) {
      await writeGroup(queue.splice(0, groupSize))
      await nextTurn()
    }
    isWriting = false
  }

  async function writeGroup(given: readonly Entry[]): Promise<void> {
    const group = latestOf(given)
    const written = await retryUntilAvailable(clock, () => change(group)).catch(() => writeEach(group))
    servers.signal() // a peer may wait for these results
    notify(group, written)
    for (const entry of given) entry.done(written.outcomes.get(entry) ?? 'outdated')
  }

  /** Writes the results, and charges their agents for the transaction. */
  function change(group: readonly Entry[]): Promise<Written> {
    return store.change(async em => {
      const before = process.threadCpuUsage()
      const written = await writeInForce(group, servers, em)
      const ms = cpuMsSince(before) / group.length
      for (const { row } of group) budgets.of(row.clientId).charge(ms)
      return written
    })
  }

  /** Writes each result alone after one has rolled back the group, and logs the one that fails. */
  async function writeEach(group: readonly Entry[]): Promise<Written> {
    const all: Written[] = []
    for (const entry of group)
      all.push(
        await change([entry]).catch((error: unknown) => {
          logFailed(entry, error)
          return { outcomes: new Map([[entry, 'failed' as const]]), forPeers: new Set<Entry>() }
        })
      )
    return {
      outcomes: new Map(all.flatMap(({ outcomes }) => [...outcomes])),
      forPeers: new Set(all.flatMap(({ forPeers }) => [...forPeers]))
    }
  }

  return (row, result, sessionId) =>
    new Promise(done => {
      const kind = kinds().get(row.kind)
      if (!kind) return done('outdated')
      queue.push({ kind, row, result, sessionId, done })
      setImmediate(() => void writeAll()) // results of one turn of the event loop share a group
    })
}

/** Retries a change while the store is unavailable. The windows of the agents bound how many results wait. */
async function retryUntilAvailable<T>(clock: Clock, change: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await change()
    } catch (error) {
      if (!isUnavailable(error)) throw error
      await new Promise<void>(resolve => void clock.after(retryMs, resolve))
    }
}

function openNotices({ log, pending, servers }: Pick<Options, 'log' | 'pending' | 'servers'>) {
  /**
   * A peer may have stored the result of an earlier revision: it counts, and the store has both in their order. Without
   * this result in the store, a change that waits for an earlier one would never be settled.
   */
  function settle({ row, result }: Entry, isForPeers: boolean): void {
    const earlier = isForPeers ? pending.earlier(row) : []
    if (earlier.length === 0) pending.recorded(row, result)
    for (const expected of earlier) servers.watchResult(expected)
  }

  function notify(group: readonly Entry[], { outcomes, forPeers }: Written): void {
    for (const entry of group.filter(entry => outcomes.get(entry) === 'recorded'))
      try {
        entry.kind.resultRecorded?.(entry.row, entry.result)
        settle(entry, forPeers.has(entry))
      } catch (error) {
        logFailed(entry, error)
      }
  }

  const logFailed = ({ row }: Entry, error: unknown): void => {
    log.error('object.result_failed', `the result for ${row.kind} ${row.id} could not be recorded`, {
      client_id: row.clientId,
      ...attributionOf(error),
      error: stackOf(error)
    })
  }

  return { notify, logFailed }
}

/** Removes entries that a later one of the same revision repeats or replaces. */
function latestOf(group: readonly Entry[]): Entry[] {
  const latest = new Map<string, Entry>()
  for (const entry of group) {
    const { row, result } = entry
    const key = `${entry.sessionId} ${objectKeyText(row)} ${row.revision} ${result.status === 'removed'}`
    latest.delete(key)
    latest.set(key, entry)
  }
  return [...latest.values()]
}

/** Writes the results of sessions in force, and stores them for peers. */
async function writeInForce(
  group: readonly Entry[],
  servers: Options['servers'],
  em: EntityManager
): Promise<Written> {
  const sessions = group.map(({ row, sessionId }) => ({ clientId: row.clientId, sessionId }))
  const inForce = await servers.inForce(sessions, em)
  const own = group.filter(({ sessionId }) => inForce.has(sessionId))
  const outcomes = own.length === 0 ? new Map<Entry, Outcome>() : await write(own, em)
  const recorded = own.filter(entry => outcomes.get(entry) === 'recorded')
  const areForPeers = recorded.length > 0 && (await servers.storeResults(recorded, em))
  return { outcomes, forPeers: new Set(areForPeers ? recorded : []) }
}

/** Writes a result only if its row still has the revision. */
async function write(group: readonly Entry[], em: EntityManager): Promise<Map<Entry, Outcome>> {
  const revisions = await readRevisions(
    group.map(({ row }) => row),
    em
  )
  const outcomes = new Map<Entry, Outcome>()
  for (const entry of group) {
    const { kind, row, result } = entry
    const revision = revisions.get(objectKeyText(row))
    const isCurrent = revision === row.revision && (result.status !== 'removed' || (await isDeleted(row, em)))
    if (isCurrent) await kind.recordResult?.(row, result, em)
    if (isCurrent && result.status === 'removed') revisions.delete(objectKeyText(row))
    outcomes.set(entry, isCurrent ? 'recorded' : revision === undefined ? 'unknown' : 'outdated')
  }
  return outcomes
}

/** Deletes a tombstone. Returns false if the row is not one. */
const isDeleted = async ({ clientId, kind, id, revision }: ManagedObject, em: EntityManager) =>
  (await em.nativeDelete(ManagedObjectRow, { clientId, kind, id, revision, removal: { $ne: null } })) > 0
