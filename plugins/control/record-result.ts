// The agents' words, written down in groups: a commit costs a sync of the disk, whether of one row or of many.
import type { EntityManager } from '@mikro-orm/sql'
import { attributionOf } from '../../kernel/base/attribution.ts'
import type { ApplyResult, ManagedObject, ObjectKind } from '../../kernel/control/managed-objects.ts'
import { ManagedObjectRow } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { PendingResults } from './pending-results.ts'

/** Resolves when it is on the disk, or was not to be: a word on a revision that is no longer the row's says nothing. */
export type RecordResult = (kind: ObjectKind, row: ManagedObject, settlement: ApplyResult) => Promise<void>

interface Word {
  readonly kind: ObjectKind
  readonly row: ManagedObject
  readonly settlement: ApplyResult
  readonly done: () => void
}

const groupSize = 256

export function openRecordResult(
  { store, log }: Pick<Kernel, 'store' | 'log'>,
  pending: PendingResults
): RecordResult {
  const words: Word[] = []
  let isWriting = false

  async function writeAll(): Promise<void> {
    if (isWriting) return
    isWriting = true
    while (words.length > 0) {
      const group = words.splice(0, groupSize)
      await store.change(em => each(group, em)).then(tell, () => apart(group))
      for (const { done } of group) done()
    }
    isWriting = false
  }

  /** One of them failed and took the others along: each for itself, and the culprit is named. */
  async function apart(group: readonly Word[]): Promise<void> {
    for (const word of group)
      await store.change(em => each([word], em)).then(tell, (error: unknown) => complain(word, error))
  }

  function tell(counted: readonly Word[]): void {
    for (const word of counted)
      try {
        word.kind.resultRecorded?.(word.row, word.settlement)
        pending.recorded(word.row, word.settlement)
      } catch (error) {
        complain(word, error)
      }
  }

  const complain = ({ row }: Word, error: unknown): void =>
    log.error('held.settle_failed', `the agent's word on ${row.kind} ${row.id} could not be taken down`, {
      client_id: row.clientId,
      ...attributionOf(error),
      error: error instanceof Error ? (error.stack ?? error.message) : String(error)
    })

  return (kind, row, settlement) =>
    new Promise(done => {
      words.push({ kind, row, settlement, done })
      setImmediate(() => void writeAll()) // what else this turn says comes along
    })
}

/** Answers those that counted. */
async function each(group: readonly Word[], em: EntityManager): Promise<Word[]> {
  const counted: Word[] = []
  for (const word of group) {
    const { kind, row, settlement } = word
    const { clientId, id, revision } = row
    const where = { clientId, kind: kind.kind, id, revision }
    const isGone = settlement.status === 'removed'
    const found = isGone
      ? await em.nativeDelete(ManagedObjectRow, { ...where, removal: { $ne: null } })
      : await em.count(ManagedObjectRow, where)
    if (found === 0) continue
    await kind.recordResult?.(row, settlement, em)
    counted.push(word)
  }
  return counted
}
