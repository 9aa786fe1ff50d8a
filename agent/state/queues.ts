// Named queues on disk. Reports stay in them until the server has them, also after a restart or a crash.
import type { Clock } from '../../kernel/base/clock.ts'
import type { Log } from '../../kernel/base/log.ts'
import { openRetriedWrite } from './retried-write.ts'
import type { StateDatabase } from './state-database.ts'

const maxItems = 10_000 // of a queue

/** A queue of texts on disk. Beyond 10,000 items, the oldest of the share with the most are dropped. */
export interface AgentQueue {
  /**
   * Appends an item. All items of one turn of the event loop are written together at its end. A failed write is retried.
   * `share` names who pays for the item, for example the owner of a rule.
   */
  push(item: string, share?: string): void
  /** Returns the oldest items, at most `max`. */
  first(max: number): readonly { readonly seq: number; readonly item: string }[]
  /** Removes all items up to this one. A failed write is retried. */
  removeUntil(seq: number): void
}

/** The queues of an agent. */
export interface Queues {
  /** Returns the same queue for the same name. */
  open(name: string): AgentQueue
  /** Writes a last time what could not be written. */
  close(): void
}

interface Options {
  readonly db: StateDatabase
  readonly clock: Clock
  readonly log: Log
}

const table = `create table if not exists queue_item (
  seq integer primary key autoincrement, queue text not null, item text not null, share text not null default '') strict;
create index if not exists queue_item_queue on queue_item (queue, seq);`

export function openQueues(options: Options): Queues {
  const { db } = options
  db.exec(table)
  const columns = db.prepare<[], { name: string }>('pragma table_info(queue_item)').all()
  if (!columns.some(({ name }) => name === 'share'))
    db.exec(`alter table queue_item add column share text not null default ''`)
  db.exec('create index if not exists queue_item_share on queue_item (queue, share, seq)')
  const queues = new Map<string, OpenQueue>()
  return {
    open(name) {
      const queue = queues.get(name) ?? openQueue(name, options)
      queues.set(name, queue)
      return queue
    },
    close() {
      for (const queue of queues.values()) queue.close()
    }
  }
}

interface OpenQueue extends AgentQueue {
  close(): void
}

function openQueue(name: string, { db, clock, log }: Options): OpenQueue {
  const insert = db.prepare<[string, string, string]>(
    'insert into queue_item (queue, item, share) values (?, ?, ?)'
  )
  const first = db.prepare<[string, number, number], { seq: number; item: string }>(
    'select seq, item from queue_item where queue = ? and seq > ? order by seq limit ?'
  )
  const remove = db.prepare<[string, number], { share: string }>(
    'delete from queue_item where queue = ? and seq <= ? returning share'
  )
  const shares = openShares(name, db)
  let pushed: { readonly item: string; readonly share: string }[] = []
  let removedUntil = 0 // 0: all removals are written
  let isDue = false
  const write = openRetriedWrite(clock, writeAll, error =>
    log.warn('agent.queue_not_written', `queue ${name} could not be written: ${String(error)}`, {
      queue: name
    })
  )

  function writeAll(): void {
    isDue = false
    if (pushed.length === 0 && removedUntil === 0) return
    let removed: { share: string }[] = []
    try {
      db.transaction(() => {
        if (removedUntil > 0) removed = remove.all(name, removedUntil)
        for (const { item, share } of pushed) insert.run(name, item, share)
      })
    } catch (error) {
      pushed = pushed.slice(-maxItems)
      throw error
    }
    for (const { share } of removed) shares.add(share, -1)
    for (const { share } of pushed) shares.add(share, 1)
    pushed = []
    removedUntil = 0
    shares.dropSurplus()
  }

  return {
    push(item, share = '') {
      pushed.push({ item, share })
      if (isDue) return
      isDue = true
      queueMicrotask(write.run)
    },
    first(max) {
      write.run()
      return first.all(name, removedUntil, max)
    },
    removeUntil(seq) {
      removedUntil = Math.max(removedUntil, seq)
      write.run()
    },
    close: write.close
  }
}

/** Counts the stored items of each share. */
function openShares(name: string, db: StateDatabase) {
  const stored = db.prepare<[string], { share: string; items: number }>(
    'select share, count(*) as items from queue_item where queue = ? group by share'
  )
  const drop = db.prepare<[string, string, number]>(
    `delete from queue_item where seq in
       (select seq from queue_item where queue = ? and share = ? order by seq limit ?)`
  )
  const counts = new Map(stored.all(name).map(({ share, items }) => [share, items]))

  function add(share: string, items: number): void {
    const count = (counts.get(share) ?? 0) + items
    if (count > 0) counts.set(share, count)
    else counts.delete(share)
  }

  function dropSurplus(): void {
    const total = counts.values().reduce((sum, count) => sum + count, 0)
    for (let surplus = total - maxItems; surplus > 0; ) {
      const [share, count] = counts.entries().reduce((most, one) => (one[1] > most[1] ? one : most))
      const dropped = Math.min(surplus, count)
      drop.run(name, share, dropped)
      add(share, -dropped)
      surplus -= dropped
    }
  }

  return { add, dropSurplus }
}
