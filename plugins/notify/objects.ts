// Decides whether a change of an object is reported: after its grace, and at most once an hour for each object and kind.
import type { EntityManager } from '@mikro-orm/sql'
import { type Clock, earliest } from '../../kernel/base/clock.ts'
import type { NoticeSubject } from '../http/exports.ts'
import { NotifyObject } from './entities.ts'
import type { Messages } from './messages.ts'
import { plainText } from './plain-text.ts'
import type { Config } from './settings.ts'
import { isAhead, whenDue } from './stored-times.ts'

const hourMs = 3_600_000
const dueRows = 500 // per change
const maxName = 100
const maxObject = 128

/** The state of an object that is fine. It has a kind only if the return to it is reported. */
export const fine = ''

interface Observation extends NoticeSubject {
  readonly subject: string
  readonly state: string
  readonly kind: string | null // that reports the state
  readonly graceMs?: number // how long the state must last before it is reported
}

interface RaisedEvent extends NoticeSubject {
  readonly kind: string
  readonly quietMs?: number
}

/** Reasons to wait although the time of a state has come. */
export interface Wait {
  isHeld(row: NotifyObject): boolean
  /** How long the state must last; a reload may have changed it since the row was written. */
  graceMs(row: NotifyObject): number
}

export interface Objects {
  /** Notes the state of an object, and reports it if it is due. A first observation of the state `fine` does nothing. */
  observe(observation: Observation, em: EntityManager): Promise<void>
  /** Reports an event; see `Notice`. */
  raise(event: RaisedEvent, em: EntityManager): Promise<void>
  /** Forgets a deleted object: what is pending is not reported. */
  forget(subject: string, object: string, em: EntityManager): Promise<void>
  hasDue(em: EntityManager): Promise<boolean>
  /** Reports states that are due. Returns true if there may be more. */
  reportDue(wait: Wait, em: EntityManager): Promise<boolean>
  /** Deletes rows that no longer hold anything back. */
  tidy(em: EntityManager): Promise<void>
}

interface Deps {
  readonly clock: Clock
  readonly config: Pick<Config, 'grace_secs'>
  readonly messages: Pick<Messages, 'add'>
}

export function openObjects({ clock, config, messages }: Deps): Objects {
  const dueNow = () => {
    const longestMs = Math.max(hourMs, config.grace_secs * 1000)
    return { $or: whenDue(clock.now(), longestMs).map(dueAt => ({ dueAt })) }
  }

  async function report(row: NotifyObject, kind: string, em: EntityManager): Promise<NotifyObject> {
    const now = clock.now()
    await messages.add({ kind, name: row.name, owner: row.owner ?? null }, em)
    return { ...row, reported: row.state, dueAt: null, reportedAt: { ...row.reportedAt, [kind]: now } }
  }

  /** Returns the row with the time at which its state is due, after reporting it if that is now. */
  async function judge(stored: NotifyObject, graceMs: number, em: EntityManager): Promise<NotifyObject> {
    const now = clock.now()
    const row = withoutFuture(stored, now)
    const kind = row.kind ?? null
    if (kind === null || row.reported === row.state)
      return { ...row, dueAt: null, ...(kind === null && { reported: row.state }) }
    const dueAt = Math.max(row.since + graceMs, (row.reportedAt[kind] ?? -hourMs) + hourMs)
    return dueAt <= now ? report(row, kind, em) : { ...row, dueAt }
  }

  async function observe(
    { subject, object, state, kind, name, owner, graceMs = 0 }: Observation,
    em: EntityManager
  ): Promise<void> {
    const key = { subject, object: object.slice(0, maxObject) }
    const found = await em.findOne(NotifyObject, key)
    if (found?.state === state || (!found && state === fine)) return
    const base = found ?? { ...key, reported: fine, reportedAt: {}, dueAt: null }
    const current = { state, kind, name: toName(name), owner, since: clock.now(), keepUntil: null }
    const row = await judge({ ...base, ...current }, graceMs, em)
    await em.upsert(NotifyObject, { ...row, keepUntil: state === fine ? heldUntil(row) : null })
  }

  const reportDue: Objects['reportDue'] = async (wait, em) => {
    const rows = await em.find(NotifyObject, dueNow(), { orderBy: { dueAt: 'asc' }, limit: dueRows })
    const judged = rows.filter(row => !wait.isHeld(row))
    for (const row of judged) {
      const wasSetBack = row.since > clock.now()
      const next = await judge(row, wasSetBack ? 0 : wait.graceMs(row), em)
      await em.upsert(NotifyObject, next.state === fine ? { ...next, keepUntil: heldUntil(next) } : next)
    }
    return rows.length === dueRows && judged.length > 0
  }

  return {
    observe,
    raise: (event, em) => raiseEvent({ clock, messages }, event, em),
    hasDue: async em => (await em.findOne(NotifyObject, dueNow())) !== null,
    reportDue,
    async forget(subject, object, em) {
      await em.nativeDelete(NotifyObject, { subject, object })
    },
    async tidy(em) {
      await em.nativeDelete(NotifyObject, { dueAt: null, keepUntil: { $lt: earliest(clock) } })
    }
  }
}

/** Reports an event, unless an earlier one of the object holds it back. */
async function raiseEvent(
  { clock, messages }: Pick<Deps, 'clock' | 'messages'>,
  { kind, object, name, owner, quietMs }: RaisedEvent,
  em: EntityManager
): Promise<void> {
  const key = { subject: kind, object: object.slice(0, maxObject) }
  const now = clock.now()
  const found = await em.findOne(NotifyObject, key)
  const isHeld = found !== null && isAhead(found.keepUntil ?? 0, now, quietMs ?? hourMs)
  const shown = { name: toName(name), owner }
  if (!isHeld) await messages.add({ kind, ...shown }, em)
  if (isHeld && quietMs === undefined) return
  const state = { state: fine, kind: null, reported: fine, reportedAt: {}, since: now, dueAt: null }
  await em.upsert(NotifyObject, { ...key, ...shown, ...state, keepUntil: now + (quietMs ?? hourMs) })
}

/** Moves times that lie ahead, because the clock was set back, to now: the state and its reports hold back nothing for longer. */
const withoutFuture = (row: NotifyObject, now: number): NotifyObject => ({
  ...row,
  since: Math.min(row.since, now),
  reportedAt: Object.fromEntries(
    Object.entries(row.reportedAt).map(([kind, at]) => [kind, Math.min(at, now)])
  )
})

/** Returns when the last report of the object holds back no other one. */
const heldUntil = ({ reportedAt }: NotifyObject): number => Math.max(0, ...Object.values(reportedAt)) + hourMs

const toName = (name: string): string => plainText(name, maxName)
