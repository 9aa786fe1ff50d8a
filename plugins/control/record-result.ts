// Stores the agents' results in groups: one commit costs one sync of the disk, whatever the number of rows.
import type { EntityManager } from '@mikro-orm/sql'
import { attributionOf } from '../../kernel/base/attribution.ts'
import { stackOf } from '../../kernel/base/errors.ts'
import type { ApplyResult, ManagedObject, ObjectKind } from '../../kernel/control/managed-objects.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { PendingResults } from './pending-results.ts'

/** Resolves when the result is on disk, was dropped because the row has another revision by now, or failed (logged). */
export type RecordResult = (row: ManagedObject, result: ApplyResult) => Promise<void>

interface Entry {
  readonly kind: ObjectKind
  readonly row: ManagedObject
  readonly result: ApplyResult
  readonly done: () => void
}

const groupSize = 256

interface Options extends Pick<Kernel, 'store' | 'log'> {
  readonly kinds: () => ReadonlyMap<string, ObjectKind>
  readonly pending: PendingResults
}

export function openRecordResult({ store, log, kinds, pending }: Options): RecordResult {
  const queue: Entry[] = []
  let isWriting = false

  async function writeAll(): Promise<void> {
    if (isWriting) return
    isWriting = true
    while (queue.length > 0) {
      const group = queue.splice(0, groupSize)
      await store.change(em => write(group, em)).then(notify, () => writeEach(group))
      for (const { done } of group) done()
    }
    isWriting = false
  }

  /** One result failed and rolled back its group: writes each alone, and logs the one that fails. */
  async function writeEach(group: readonly Entry[]): Promise<void> {
    for (const entry of group)
      await store.change(em => write([entry], em)).then(notify, (error: unknown) => logFailed(entry, error))
  }

  function notify(recorded: readonly Entry[]): void {
    for (const entry of recorded)
      try {
        entry.kind.resultRecorded?.(entry.row, entry.result)
        pending.recorded(entry.row, entry.result)
      } catch (error) {
        logFailed(entry, error)
      }
  }

  const logFailed = ({ row }: Entry, error: unknown): void => {
    log.error('held.settle_failed', `the result for ${row.kind} ${row.id} could not be recorded`, {
      client_id: row.clientId,
      ...attributionOf(error),
      error: stackOf(error)
    })
  }

  return (row, result) =>
    new Promise(done => {
      const kind = kinds().get(row.kind)
      if (!kind) return done()
      queue.push({ kind, row, result, done })
      setImmediate(() => void writeAll()) // results of the same turn of the event loop share a group
    })
}

/** Writes the results whose row still has their revision, and returns these entries. */
async function write(group: readonly Entry[], em: EntityManager): Promise<Entry[]> {
  const recorded: Entry[] = []
  for (const entry of group) {
    const { kind, row, result } = entry
    const where = { clientId: row.clientId, kind: row.kind, id: row.id, revision: row.revision }
    const found =
      result.status === 'removed'
        ? await em.nativeDelete(ManagedObjectRow, { ...where, removal: { $ne: null } })
        : await em.count(ManagedObjectRow, where)
    if (found === 0) continue
    await kind.recordResult?.(row, result, em)
    recorded.push(entry)
  }
  return recorded
}
