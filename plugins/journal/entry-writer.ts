// Inserts entries in batches, and trims subjects with too many entries.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { CommittedMap } from '../http/exports.ts'
import { columns, type Entry, insert, trim } from './entries.ts'
import type { keys } from './settings.ts'

/** Entries of a transaction that wait to be inserted. */
interface Group {
  readonly em: EntityManager
  readonly entries: Entry[]
  readonly done: Promise<void>
}

const addedPerTrim = 50
const maxCounted = 20_000 // subjects; beyond it, all counts restart, because finding the oldest needs a scan

/** Batches entries that one transaction adds in the same tick, because a change for all agents adds one entry each. */
export function openEntryWriter({ config }: Pick<Kernel<typeof keys>, 'config'>) {
  const added = new CommittedMap<string, number>() // by subject, since it was trimmed
  let waiting: Group | null = null

  function openGroup(em: EntityManager): Group {
    const entries: Entry[] = []
    const done = new Promise<void>(resolve => {
      process.nextTick(() => {
        waiting = null
        resolve(addAll(entries, em))
      })
    })
    return { em, entries, done }
  }

  async function addAll(entries: readonly Entry[], em: EntityManager): Promise<void> {
    let left = entries.length
    for (const some of rowBatches(entries, columns)) {
      const due = (await insert(some, em)).filter(subject => count(subject, em))
      for (const subjects of rowBatches(due)) await trim(subjects, config.journal_max_entries, em)
      left -= some.length
      if (left > 0) await setImmediate() // a transaction of the embedded store does not yield to the event loop
    }
    afterCommit(em, () => {
      if (added.size > maxCounted) added.clear()
    })
  }

  /** Returns whether the subject must be trimmed, which includes subjects that this process has not counted yet. */
  function count(subject: string, em: EntityManager): boolean {
    const count = (added.seenBy(em, subject) ?? addedPerTrim) + 1
    const isDue = count > addedPerTrim
    added.setBy(em, subject, isDue ? 0 : count)
    return isDue
  }

  return (entry: Entry, em: EntityManager): Promise<void> => {
    if (waiting?.em !== em) waiting = openGroup(em)
    waiting.entries.push(entry)
    return waiting.done
  }
}
