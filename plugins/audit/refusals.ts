// Aggregates denials and refused mutations of one kind within a minute into one entry. The first is written at once.
// Further ones are counted in memory and written each second, so that a flood costs neither rows nor a write each.
import type { EntityManager } from '@mikro-orm/sql'
import { networkOf } from '../../kernel/platform/network.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Decision } from '../http/exports.ts'
import { Entry } from './entities.ts'

const minuteMs = 60_000
const maxAnonymous = 1000 // entries a minute without an authenticated principal
const reservedForOthers = 16 // part of maxAnonymous for addresses beyond the limit, one entry per code

interface Aggregate {
  readonly entry: Entry
  readonly minute: number
  pending: number // counted, not yet written
}

export interface Refusals {
  /** Returns the entry to write, or null if an earlier entry counts this refusal. Idempotent per decision. */
  add(decision: Decision, refusal: Entry): Entry | null
  /** Writes the pending counts. Calls run one after another, so that nothing is counted twice. */
  flush(): Promise<void>
  /** Call it at start: continues the aggregates of this minute. Ignores refused mutations of users. */
  load(): Promise<void>
}

export function openRefusals({ store, clock }: Pick<Kernel, 'store' | 'clock'>): Refusals {
  const aggregates = new Map<string, Aggregate>()
  let anonymous = { minute: 0, count: 0 }
  let lastWrite: Promise<void> = Promise.resolve()

  function add(refusal: Entry): Entry | null {
    const minute = toMinute(refusal)
    const found = aggregates.get(aggregateKey(refusal))
    if (found) {
      found.pending++
      return null
    }
    if (refusal.actor != null) return start(refusal, minute)
    if (anonymous.minute !== minute) anonymous = { minute, count: 0 }
    if (refusal.remoteAddr != null && anonymous.count >= maxAnonymous - reservedForOthers)
      return add({ ...refusal, remoteAddr: null })
    anonymous.count++
    return start(refusal, minute)
  }

  function start(entry: Entry, minute: number): Entry {
    aggregates.set(aggregateKey(entry), { entry, minute, pending: 0 })
    return entry
  }

  async function write(): Promise<void> {
    const due = [...aggregates.values()]
      .filter(({ pending }) => pending > 0)
      .map(aggregate => ({ aggregate, by: aggregate.pending }))
    if (due.length > 0)
      await store.change(async em => {
        for (const { aggregate, by } of due) await addToCount(aggregate.entry, by, em)
      })
    for (const { aggregate, by } of due) aggregate.pending -= by
    const now = Math.floor(clock.now() / minuteMs)
    for (const [key, { minute, pending }] of aggregates)
      if (minute < now && pending === 0) aggregates.delete(key)
  }

  return {
    add: once(add),
    flush() {
      lastWrite = lastWrite.then(write, write)
      return lastWrite
    },
    async load() {
      const since = Math.floor(clock.now() / minuteMs) * minuteMs
      const aggregated = [{ outcome: 'deny' as const }, { actor: null, reason: { $ne: null } }]
      const where = { timestamp: { $gte: since }, $or: aggregated }
      for (const entry of await store.read(em => em.find(Entry, where))) {
        start(entry, toMinute(entry))
        if (entry.actor == null) anonymous = { minute: toMinute(entry), count: anonymous.count + 1 }
      }
    }
  }
}

/** Judges each refusal once, because the transaction that writes it may run again. */
function once(judge: (refusal: Entry) => Entry | null) {
  const judged = new WeakMap<Decision, Entry | null>()
  return (decision: Decision, refusal: Entry): Entry | null => {
    const before = judged.get(decision)
    const entry = before === undefined ? judge(refusal) : before
    judged.set(decision, entry)
    return entry
  }
}

const toMinute = ({ timestamp }: Entry): number => Math.floor(timestamp / minuteMs)

/** Inserts the entry again if it is missing, because retention deleted it or its transaction was rolled back. */
async function addToCount(entry: Entry, by: number, em: EntityManager): Promise<void> {
  const sql = 'update audit_entry set count = count + ? where id = ?'
  const { affectedRows } = await em.execute<{ affectedRows: number }>(sql, [by, entry.id], 'run')
  if (affectedRows === 0) await em.insert(Entry, { ...entry, count: by })
}

function aggregateKey(refusal: Entry): string {
  const { actor, action, reason, remoteAddr, resourceId = null } = refusal
  const about = resourceId === null ? '' : ` about ${resourceId}` // of a sign-in with the right password
  const caller =
    actor == null ? `address ${networkOf(remoteAddr ?? 'others')}${about}` : `user ${actor} ${action}`
  return `${toMinute(refusal)} ${caller} ${reason}`
}
