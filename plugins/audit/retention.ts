// What the record forgets: what is too old, and what is too much, denials first.
import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { Entry } from './entities.ts'
import type { keys } from './settings.ts'

const dayMs = 24 * 3_600_000
const rowsPerChange = 1000 // short transactions: others write, and the thread answers, in between
const tidiesPerCount = 60 // counting a million rows costs some 20 ms

export function openRetention({ store, clock, log, config }: Kernel<typeof keys>) {
  let count = 0
  let tidies = 0
  let running: Promise<void> | null = null
  let isOver = false

  /** Answers how many went. */
  async function drop(which: string, values: readonly number[], atMost: number): Promise<number> {
    let gone = 0
    for (let isMore = true; isMore && gone < atMost && !isOver; ) {
      const slice = Math.min(rowsPerChange, atMost - gone)
      const affected = await store.change(em => dropSome(which, [...values, slice], em))
      gone += affected
      isMore = affected === slice
      await setImmediate() // a transaction of the embedded store never yields by itself
    }
    count -= gone
    return gone
  }

  async function forget(): Promise<void> {
    try {
      const before = clock.now() - config.audit_retention_days * dayMs
      await drop('where timestamp < ?', [before], Number.POSITIVE_INFINITY)
      if (tidies++ % tidiesPerCount === 0) count = await store.read(em => em.count(Entry, {}))
      const surplus = count - config.audit_max_rows
      if (surplus <= 0) return
      const denials = await drop(`where outcome = 'deny'`, [], surplus)
      if (denials < surplus) await drop('', [], surplus - denials)
    } catch (error) {
      log.warn('audit.not_tidied', `tried again in a minute: ${String(error)}`)
    }
  }

  return {
    /** One at a time. */
    tidy(): Promise<void> {
      running ??= forget().finally(() => {
        running = null
      })
      return running
    },
    /** What is left to forget waits for the next start. */
    async stop(): Promise<void> {
      isOver = true
      await running
    },
    /** An entry was written. */
    grew: () => void count++
  }
}

/** The oldest that the condition names. */
async function dropSome(which: string, values: readonly number[], em: EntityManager): Promise<number> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `delete from audit_entry where id in
       (select id from audit_entry ${which} order by timestamp, id limit ?)`,
    [...values],
    'run'
  )
  return affectedRows
}
