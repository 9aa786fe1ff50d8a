// Named queues on disk. Reports stay in them until the server has them, also after a restart or a crash.
import type { Log } from '../../kernel/base/log.ts'
import type { StateDatabase } from './state-database.ts'

const maxItems = 10_000 // of a queue

/** A queue of texts on disk. Beyond 10,000 items the oldest are dropped. */
export interface AgentQueue {
  /** Appends an item. All items of one turn of the event loop are written together at its end. */
  push(item: string): void
  /** Returns the oldest items, at most `max`. */
  first(max: number): readonly { readonly seq: number; readonly item: string }[]
  /** Removes all items up to this one. */
  removeUntil(seq: number): void
}

const table = `create table if not exists queue_item (
  seq integer primary key autoincrement, queue text not null, item text not null) strict;
create index if not exists queue_item_queue on queue_item (queue, seq);`

/** Returns a function that opens a queue. It returns the same queue for the same name. */
export function openQueues(db: StateDatabase, log: Log): (name: string) => AgentQueue {
  db.exec(table)
  const queues = new Map<string, AgentQueue>()
  return name => {
    const queue = queues.get(name) ?? openQueue(name, db, log)
    queues.set(name, queue)
    return queue
  }
}

function openQueue(name: string, db: StateDatabase, log: Log): AgentQueue {
  const insert = db.prepare<[string, string]>('insert into queue_item (queue, item) values (?, ?)')
  const first = db.prepare<[string, number], { seq: number; item: string }>(
    'select seq, item from queue_item where queue = ? order by seq limit ?'
  )
  const remove = db.prepare<[string, number]>('delete from queue_item where queue = ? and seq <= ?')
  const surplus = db.prepare<[string], { seq: number }>(
    `select seq from queue_item where queue = ? order by seq desc limit 1 offset ${maxItems}`
  )
  let pushed: string[] = []
  let isDue = false

  function write(): void {
    isDue = false
    if (pushed.length === 0) return
    try {
      db.transaction(() => {
        for (const item of pushed) insert.run(name, item)
        const last = surplus.get(name)
        if (last) remove.run(name, last.seq)
      })
      pushed = []
    } catch (error) {
      pushed = pushed.slice(-maxItems) // retried with the next push
      log.warn('agent.queue_not_written', `queue ${name} could not be written: ${String(error)}`, {
        queue: name
      })
    }
  }

  return {
    push(item) {
      pushed.push(item)
      if (isDue) return
      isDue = true
      queueMicrotask(write)
    },
    first(max) {
      write()
      return first.all(name, max)
    },
    removeUntil: seq => void remove.run(name, seq)
  }
}
