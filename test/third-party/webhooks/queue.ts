// The queue of events in the database. An event is stored in the transaction that causes it, and deleted once delivered.
import { afterCommit, type EntityManager, type Kernel, newId, timestamp } from 'sluice/plugin'
import { Delivery } from './entities.ts'
import type { Outcome } from './post.ts'
import type { config, EventName } from './settings.ts'

export const maxWaiting = 10_000 // per endpoint
export const maxDead = 1_000 // per endpoint, and for all removed endpoints together
export const maxAttempts = 12
const firstRetryMs = 10_000
const lastRetryMs = 3_600_000

export const retryAfterMs = (attempts: number): number =>
  Math.min(lastRetryMs, firstRetryMs * 2 ** (attempts - 1))

export interface Event {
  readonly name: EventName
  readonly at: number // ms
  readonly data: Readonly<Record<string, unknown>>
}

export interface Queue {
  wants(name: EventName): boolean
  /** Queues the event for its endpoints, in the transaction that causes it. */
  put(event: Event, em: EntityManager): Promise<void>
  /** Returns the first event of an endpoint if it is due. Later events wait for it. */
  due(endpoint: string): Promise<Delivery | null>
  recordOutcome(row: Delivery, outcome: Outcome): Promise<void>
  /** Turns the events of removed endpoints into dead letters. */
  start(): Promise<void>
  /** Returns how many events of the endpoint were dropped since the start. */
  dropped(endpoint: string): number
}

type Services = Pick<Kernel<typeof config>, 'config' | 'store' | 'clock' | 'log'>

export function openQueue({ config: { endpoints }, store, clock, log }: Services): Queue {
  const { drop, dropped } = openDropCounter(log)

  const wants = (name: EventName): boolean => endpoints.some(({ events }) => events.includes(name))

  async function put({ name, at, data }: Event, em: EntityManager): Promise<void> {
    for (const { name: endpoint } of endpoints.filter(({ events }) => events.includes(name))) {
      if ((await em.count(Delivery, { endpoint, deadAt: null })) >= maxWaiting) {
        afterCommit(em, () => drop(endpoint)) // the transaction may run again
        continue
      }
      const id = newId(at)
      const body = bodyOf({ id, name, at, data })
      await em.insert(Delivery, { id, endpoint, event: name, body, attempts: 0, nextAt: at, createdAt: at })
    }
  }

  async function due(endpoint: string): Promise<Delivery | null> {
    const first = await store.read(em => firstWaiting(endpoint, em))
    return first && first.nextAt <= clock.now() ? first : null
  }

  async function recordOutcome(row: Delivery, outcome: Outcome): Promise<void> {
    const { id, endpoint, event } = row
    if (outcome.result === 'delivered')
      return store.change(async em => void (await em.nativeDelete(Delivery, { id })))
    const { error } = outcome
    const attempts = row.attempts + 1
    const now = clock.now()
    const isDead = attempts >= maxAttempts
    await store.change(async em => {
      const nextAt = now + retryAfterMs(attempts)
      await em.nativeUpdate(Delivery, { id }, { attempts, error, nextAt, deadAt: isDead ? now : null })
      if (isDead) await deleteOldestDead(endpoint, em)
    })
    const fields = { endpoint, delivery: id, about: event, attempts, error }
    if (isDead) log.error('webhook.dead', `given up after ${attempts} attempts`, fields)
    else log.warn('webhook.failed', 'the delivery failed and will be retried', fields)
  }

  async function start(): Promise<void> {
    const removed = { $nin: endpoints.map(({ name }) => name) }
    const error = 'the endpoint is no longer configured'
    await store.change(async em => {
      const left = { endpoint: removed, deadAt: null }
      await em.nativeUpdate(Delivery, left, { deadAt: clock.now(), error })
      await deleteOldestDead(removed, em)
    })
  }

  return { wants, put, due, recordOutcome, start, dropped }
}

/** Counts dropped events for each endpoint, and logs the 1st, 2nd, 4th, 8th and so on. */
function openDropCounter(log: Services['log']) {
  const counts = new Map<string, number>()
  const dropped = (endpoint: string): number => counts.get(endpoint) ?? 0
  function drop(endpoint: string): void {
    const count = dropped(endpoint) + 1
    counts.set(endpoint, count)
    if (Number.isInteger(Math.log2(count)))
      log.warn(
        'webhook.dropped',
        `dropped an event, since the queue of this endpoint is full (${maxWaiting} events)`,
        { endpoint, count }
      )
  }
  return { drop, dropped }
}

async function firstWaiting(endpoint: string, em: EntityManager): Promise<Delivery | undefined> {
  const order = { orderBy: { id: 'asc' }, limit: 1 } as const
  const [first] = await em.find(Delivery, { endpoint, deadAt: null }, order)
  return first
}

async function deleteOldestDead(
  endpoint: string | { readonly $nin: string[] },
  em: EntityManager
): Promise<void> {
  const dead = { endpoint, deadAt: { $ne: null } }
  const page = { orderBy: { id: 'desc' }, offset: maxDead - 1, limit: 1 } as const
  const [oldestKept] = await em.find(Delivery, dead, page)
  if (oldestKept) await em.nativeDelete(Delivery, { ...dead, id: { $lt: oldestKept.id } })
}

export const bodyOf = ({ id, name, at, data }: Omit<Event, 'name'> & { id: string; name: string }): string =>
  JSON.stringify({ id, event: name, created_at: timestamp(at), data })
