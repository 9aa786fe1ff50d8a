// The queue of messages for each channel, in the store.
import type { EntityManager } from '@mikro-orm/sql'
import type { Clock } from '../../kernel/base/clock.ts'
import { User } from '../../kernel/identity/entities.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { seesAll } from '../http/exports.ts'
import type { Channel } from './channel.ts'
import type { Outcome } from './channels/outgoing.ts'
import { NotifyChannel, NotifyDelivery, type NotifyMessage } from './entities.ts'
import type { Messages, Reader } from './messages.ts'
import type { Results } from './results.ts'
import { whenDue } from './stored-times.ts'

export const maxWaiting = 1_000 // of all channels together, in equal shares
const ownerParts = 4 // messages about one owner alone take at most a quarter of a channel's share
const hourMs = 3_600_000
const pausesMs = [10_000, 60_000, 300_000, 900_000] // between tries; the last try is an hour after the first
const sumOfPausesMs = pausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0)
const lastAttempt = pausesMs.length + 2
const claimMs = 30_000 // an attempt takes at most 10 s: after this time its server has died
const maxError = 255

interface ChannelHost extends Pick<Channel, 'name'> {
  readonly plainHost: string | null // see `plainHostOf`
}

export interface Deliveries {
  /** Queues a message for the channels that take it, in the transaction that closes it. */
  enqueue(message: NotifyMessage, channels: readonly Channel[], em: EntityManager): Promise<void>
  hasDue(channel: string, em: EntityManager): Promise<boolean>
  /** Takes the delivery that has been due longest, so that no other server tries it at the same time. */
  claim(channel: string, em: EntityManager): Promise<NotifyDelivery | null>
  /** Stores the result of an attempt. Returns true if it was the last one, and has failed. */
  record(delivery: NotifyDelivery, outcome: Outcome, em: EntityManager): Promise<boolean>
  /** Stores the result of a test in the list of channels. */
  recordTest(channel: string, outcome: Outcome, em: EntityManager): Promise<void>
  /** Stores the configured channels, and gives up deliveries to those that were removed. */
  syncChannels(channels: readonly ChannelHost[], em: EntityManager): Promise<void>
}

interface Deps {
  readonly clock: Clock
  readonly messages: Pick<Messages, 'load'>
  readonly results: Pick<Results, 'count'>
}

export function openDeliveries({ clock, messages, results }: Deps): Deliveries {
  const enqueue: Deliveries['enqueue'] = async (message, channels, em) => {
    const share = Math.floor(maxWaiting / Math.max(1, channels.length))
    const owner = message.owner ?? null
    for (const { name, user, kinds } of channels) {
      if (kinds !== null && !kinds.includes(message.kind)) continue
      const reader = await readerFor(user, em)
      if (reader === null || !(await messages.load([message], reader, em)).has(message.id)) continue
      const error = await overflow(name, share, owner, em)
      const row = {
        message: message.id,
        channel: name,
        owner,
        attempts: 0,
        firstAt: null,
        nextAt: clock.now()
      }
      const state = error === null ? 'waiting' : 'failed'
      await em.insert(NotifyDelivery, { ...row, state, error })
      if (error !== null) afterCommit(em, () => results.count(name, 'dropped'))
    }
  }

  const claim: Deliveries['claim'] = async (channel, em) => {
    const now = clock.now()
    const order = { orderBy: { nextAt: 'asc', message: 'asc' }, limit: 1 } as const
    const [row] = await em.find(NotifyDelivery, dueIn(channel, now), order)
    if (!row) return null
    const next = { attempts: row.attempts + 1, firstAt: row.firstAt ?? now, nextAt: now + claimMs }
    await em.nativeUpdate(NotifyDelivery, keyOf(row), next)
    return { ...row, ...next }
  }

  const record: Deliveries['record'] = async (row, outcome, em) => {
    const { attempts, firstAt } = row
    const key = { ...keyOf(row), attempts } // else another server has taken it over
    if (outcome.result === 'interrupted') {
      await em.nativeUpdate(NotifyDelivery, key, { attempts: attempts - 1, nextAt: clock.now() })
      return false
    }
    await noteResult(row.channel, outcome, clock.now(), em)
    const hasFailed = outcome.result === 'failed' && attempts >= lastAttempt
    const state = outcome.result === 'delivered' ? outcome.result : hasFailed ? 'failed' : 'waiting'
    const nextAt = nextTry(attempts, firstAt ?? clock.now(), clock.now())
    await em.nativeUpdate(NotifyDelivery, key, { state, nextAt, error: toError(outcome) })
    return hasFailed
  }

  return {
    enqueue,
    hasDue: async (channel, em) => (await em.findOne(NotifyDelivery, dueIn(channel, clock.now()))) !== null,
    claim,
    record,
    recordTest: (channel, outcome, em) => noteResult(channel, outcome, clock.now(), em),
    syncChannels
  }
}

const dueIn = (channel: string, now: number) => ({
  channel,
  state: 'waiting' as const,
  $or: whenDue(now, hourMs).map(nextAt => ({ nextAt }))
})

/** Returns why the queue has no room for the message; null if it has. */
async function overflow(channel: string, share: number, owner: string | null, em: EntityManager) {
  const waiting = { channel, state: 'waiting' as const }
  if ((await em.count(NotifyDelivery, waiting)) >= share)
    return `dropped: ${share} messages wait for this channel`
  const ownerShare = Math.max(1, Math.floor(share / ownerParts))
  if (owner === null || (await em.count(NotifyDelivery, { ...waiting, owner })) < ownerShare) return null
  return `dropped: ${ownerShare} messages about one owner wait for this channel`
}

async function noteResult(name: string, outcome: Outcome, now: number, em: EntityManager): Promise<void> {
  const hasSucceeded = outcome.result === 'delivered'
  const row = { name, plainHost: null, lastSuccessAt: hasSucceeded ? now : null, lastError: toError(outcome) }
  const onConflictMergeFields = hasSucceeded
    ? (['lastSuccessAt', 'lastError'] as const)
    : (['lastError'] as const)
  await em.upsert(NotifyChannel, row, { onConflictMergeFields: [...onConflictMergeFields] }) // a reload can have added it
}

async function syncChannels(channels: readonly ChannelHost[], em: EntityManager): Promise<void> {
  const removed = { $nin: channels.map(({ name }) => name) }
  const error = 'the channel was removed from the configuration'
  const waiting = { channel: removed, state: 'waiting' as const }
  await em.nativeUpdate(NotifyDelivery, waiting, { state: 'failed', error })
  await em.nativeDelete(NotifyChannel, { name: removed })
  const known = new Map((await em.find(NotifyChannel, {})).map(row => [row.name, row]))
  for (const { name, plainHost } of channels) {
    const row = known.get(name)
    if (!row) await em.insert(NotifyChannel, { name, plainHost, lastSuccessAt: null, lastError: null })
    else if ((row.plainHost ?? null) !== plainHost)
      await em.nativeUpdate(NotifyChannel, { name }, { plainHost })
  }
}

/** Returns when to try again after attempt number `attempts`. */
export function nextTry(attempts: number, firstAt: number, now: number): number {
  const pauseMs = pausesMs[attempts - 1]
  if (pauseMs !== undefined) return now + pauseMs
  const begunAt = Math.min(firstAt, now - sumOfPausesMs) // at the latest, if the clock was set back
  return Math.max(now, begunAt + hourMs)
}

/** Returns what a channel shows: all, or what its user may see; null if there is no such user. */
export async function readerFor(user: string | null, em: EntityManager): Promise<Reader | null> {
  if (user === null) return 'all'
  const found = await em.findOne(User, { id: user, disabled: false })
  if (!found) return null
  return seesAll({ role: found.role }) ? 'all' : { user }
}

const keyOf = ({ message, channel }: NotifyDelivery) => ({ message, channel })

const toError = ({ error }: Outcome): string | null => error?.slice(0, maxError) ?? null
