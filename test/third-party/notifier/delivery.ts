// The queue of notes, and their delivery.
import { afterCommit, type EntityManager, newId, timestamp } from 'sluice/plugin'
import type { Deps } from './deps.ts'
import { Choice, type Kind, Note } from './entities.ts'
import { isAllowed, post } from './post.ts'

export interface Delivery {
  /** Sends the oldest note of each user that is due, if this server has the task. Does not wait for the replies. */
  wake(): Promise<void>
  /** Resolves when no request is open. */
  stop(): Promise<void>
}

const maxSending = 32 // one for each user, so that a slow receiver delays no other
const firstBackoffMs = 5000
const maxBackoffMs = 3_600_000
const maxAgeMs = 86_400_000

export const contextOf = (userId: string): string => `notifier_choice.url ${userId}`

export function openDelivery({ clock, config, control, secrets, store }: Deps): Delivery {
  const sending = new Map<string, Promise<void>>() // by user
  let isStopped = false

  async function send(userId: string): Promise<void> {
    const choice = await store.read(em => em.findOne(Choice, { userId }))
    const note = await store.read(em => em.findOne(Note, { userId }, { orderBy: { id: 'asc' } }))
    if (!choice || !note) return
    const url = secrets.open(choice.url, contextOf(userId))
    const isOpen = isAllowed(url, config.origins)
    const reply = isOpen ? await post(url, note.content, clock.now()) : { result: 'origin_not_allowed' }
    const now = clock.now()
    const isLast = reply.retryMs === undefined || now - note.createdAt >= maxAgeMs
    const tries = isLast ? 0 : choice.tries + 1
    const wait = isLast ? 0 : Math.max(reply.retryMs ?? 0, firstBackoffMs * 2 ** choice.tries)
    await store.change(async em => {
      if (isLast) await em.nativeDelete(Note, { id: note.id })
      const nextAt = (await em.count(Note, { userId })) > 0 ? now + Math.min(wait, maxBackoffMs) : null
      const unchanged = { userId, url: choice.url } // a URL that was chosen meanwhile is tried at once
      await em.nativeUpdate(Choice, unchanged, { nextAt, tries, lastResult: reply.result })
    })
  }

  async function sendDue(): Promise<void> {
    const due = { nextAt: { $lte: clock.now() }, userId: { $nin: [...sending.keys()] } }
    const limit = maxSending - sending.size
    const choices = await store.read(em => em.find(Choice, due, { orderBy: { nextAt: 'asc' }, limit }))
    for (const { userId } of choices) {
      if (isStopped || sending.has(userId)) continue
      const sent = send(userId).finally(() => sending.delete(userId))
      sending.set(userId, sent.then(wake))
    }
  }

  async function wake(): Promise<void> {
    if (!isStopped && sending.size < maxSending) await control.servers.onOne('notifier.deliver', sendDue)
  }

  return {
    wake,
    async stop() {
      isStopped = true
      await Promise.allSettled(sending.values())
    }
  }
}

export const maxWaiting = 100 // for one user

/**
 * Queues a note in the transaction of its cause. Returns false if the user does not want the kind, or if too many notes
 * wait. Null: a note that every user with a URL gets.
 */
export async function queue(userId: string, kind: Kind | null, event: object, deps: Deps, em: EntityManager) {
  const choice = await em.findOne(Choice, { userId })
  if (!choice || (kind !== null && !choice.kinds.includes(kind))) return false
  if ((await em.count(Note, { userId })) >= maxWaiting) return false
  const now = deps.clock.now()
  const id = newId(now)
  const content = { note_id: id, at: timestamp(now), ...event }
  await em.insert(Note, { id, userId, content, createdAt: now })
  await em.nativeUpdate(Choice, { userId, nextAt: null }, { nextAt: now })
  afterCommit(em, deps.delivery.wake)
  return true
}

/** Deletes the choice and the waiting notes of a user. */
export async function forget(userId: string, em: EntityManager): Promise<void> {
  await em.nativeDelete(Note, { userId })
  await em.nativeDelete(Choice, { userId })
}
