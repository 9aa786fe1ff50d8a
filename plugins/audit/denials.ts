// Denials of one kind within a minute are one entry. The first is written at once; how many more came is counted here
// and written each second, so that a loop of refusals costs neither rows nor a write each.
import type { EntityManager } from '@mikro-orm/sql'
import ipaddr from 'ipaddr.js'
import type { Kernel } from '../../kernel/plugin.ts'
import { Entry } from './entities.ts'

const minuteMs = 60_000
const maxUnknown = 1000 // entries a minute without a known principal
const keptForOthers = 16 // of these: one a code, for all addresses beyond

interface Fold {
  readonly entry: Entry
  readonly minute: number
  more: number // not written yet
}

export type Denials = ReturnType<typeof openDenials>

export function openDenials({ store, clock }: Pick<Kernel, 'store' | 'clock'>) {
  const folds = new Map<string, Fold>()
  let unknown = { minute: 0, count: 0 }
  let running: Promise<void> = Promise.resolve()

  /** What is to be written; null where an entry stands for it already. */
  function take(denial: Entry): Entry | null {
    const minute = minuteOf(denial)
    const found = folds.get(keyOf(denial))
    if (found) {
      found.more++
      return null
    }
    if (denial.actor != null) return keep(denial, minute)
    if (unknown.minute !== minute) unknown = { minute, count: 0 }
    if (denial.remoteAddr != null && unknown.count >= maxUnknown - keptForOthers)
      return take({ ...denial, remoteAddr: null })
    unknown.count++
    return keep(denial, minute)
  }

  function keep(entry: Entry, minute: number): Entry {
    folds.set(keyOf(entry), { entry, minute, more: 0 })
    return entry
  }

  async function write(): Promise<void> {
    const due = [...folds.values()].filter(({ more }) => more > 0).map(fold => ({ fold, by: fold.more }))
    if (due.length > 0)
      await store.change(async em => {
        for (const { fold, by } of due) await grow(fold.entry, by, em)
      })
    for (const { fold, by } of due) fold.more -= by
    const now = Math.floor(clock.now() / minuteMs)
    for (const [key, { minute, more }] of folds) if (minute < now && more === 0) folds.delete(key)
  }

  return {
    take,
    /** One after the other: none counts twice. */
    flush(): Promise<void> {
      running = running.then(write, write)
      return running
    },
    /** After a restart within a minute its entries go on. */
    async load(): Promise<void> {
      const since = Math.floor(clock.now() / minuteMs) * minuteMs
      const folded = [{ outcome: 'deny' as const }, { actor: null, reason: { $ne: null } }]
      const where = { timestamp: { $gte: since }, $or: folded }
      for (const entry of await store.read(em => em.find(Entry, where))) {
        keep(entry, minuteOf(entry))
        if (entry.actor == null) unknown = { minute: minuteOf(entry), count: unknown.count + 1 }
      }
    }
  }
}

const minuteOf = ({ timestamp }: Entry): number => Math.floor(timestamp / minuteMs)

/** Retention may have taken it, or its transaction was undone: then it begins anew. */
async function grow(entry: Entry, by: number, em: EntityManager): Promise<void> {
  const sql = 'update audit_entry set count = count + ? where id = ?'
  const { affectedRows } = await em.execute<{ affectedRows: number }>(sql, [by, entry.id], 'run')
  if (affectedRows === 0) await em.insert(Entry, { ...entry, count: by })
}

function keyOf(denial: Entry): string {
  const { actor, action, reason, remoteAddr } = denial
  const who = actor == null ? `address ${networkOf(remoteAddr ?? 'others')}` : `user ${actor} ${action}`
  return `${minuteOf(denial)} ${who} ${reason}`
}

/** What one host can have many of counts as one: of IPv6 its /64. */
function networkOf(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address
  return ipaddr.IPv6.parse(address).parts.slice(0, 4).join(':')
}
