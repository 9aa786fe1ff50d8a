// The agents' words, written down in groups: a commit costs a sync of the disk, whether of one row or of many.
import type { EntityManager } from '@mikro-orm/sql'
import { blame } from '../../kernel/base/within.ts'
import type { HeldRow, Kind, Settlement } from '../../kernel/control/held.ts'
import { HeldObject } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'

/** Resolves when it is on the disk, or was not to be: a word on a revision that is no longer the row's says nothing. */
export type Settle = (kind: Kind, row: HeldRow, settlement: Settlement) => Promise<void>

interface Word {
  readonly kind: Kind
  readonly row: HeldRow
  readonly settlement: Settlement
  readonly done: () => void
}

const groupSize = 256

export function openSettle({ store, log }: Pick<Kernel, 'store' | 'log'>): Settle {
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
        word.kind.settled?.(word.row, word.settlement)
      } catch (error) {
        complain(word, error)
      }
  }

  const complain = ({ row }: Word, error: unknown): void =>
    log.error('held.settle_failed', `the agent's word on ${row.kind} ${row.id} could not be taken down`, {
      client_id: row.clientId,
      ...blame(error),
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
    const isGone = settlement.is === 'gone'
    const found = isGone
      ? await em.nativeDelete(HeldObject, { ...where, removal: { $ne: null } })
      : await em.count(HeldObject, where)
    if (found === 0) continue
    await kind.settle(row, settlement, em)
    counted.push(word)
  }
  return counted
}
