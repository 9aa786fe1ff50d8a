// Turns server activity into events. Fills slots of kernel, rules and quota.
import {
  type ConnectionHooks,
  type EntityManager,
  Fault,
  type Kernel,
  type Peer,
  type quota,
  type rules
} from 'sluice/plugin'
import type { Event, Queue } from './queue.ts'
import type { config } from './settings.ts'

interface Services extends Pick<Kernel<typeof config>, 'store' | 'clock' | 'log'> {
  readonly queue: Queue
  readonly clients: { get(id: string, em: EntityManager): Promise<{ readonly name: string }> }
}

interface BufferedEvent extends Event {
  readonly clientId: string
}

const maxBatch = 100

export interface EventSources {
  readonly connection: ConnectionHooks
  /** Fills the slot for state changes of rules. */
  state(change: rules.StateChange, em: EntityManager): Promise<void>
  /** Fills the slot for quota levels. */
  level(usage: quota.Level, em: EntityManager): Promise<void>
  /** Resolves when all buffered events are stored. */
  flush(): Promise<void>
}

export function openEventSources({ queue, clients, store, clock, log }: Services): EventSources {
  const buffered: BufferedEvent[] = []
  let writing: Promise<void> | null = null

  /** Buffers an event without a transaction. `writeAll` stores buffered events in batches. */
  function buffer(name: Event['name'], { clientId, sessionId }: Peer, more: object): void {
    if (!queue.wants(name)) return
    buffered.push({ name, clientId, at: clock.now(), data: { session_id: sessionId, ...more } })
    writing ??= writeAll()
  }

  async function writeAll(): Promise<void> {
    while (buffered.length > 0) {
      const events = buffered.splice(0, maxBatch)
      await store
        .change(async em => {
          for (const { clientId, data, ...event } of events) {
            const client = { client_id: clientId, client_name: await nameOf(clientId, em) }
            await queue.put({ ...event, data: { ...client, ...data } }, em)
          }
        })
        .catch(error => log.error('webhook.not_queued', String(error), { count: events.length }))
    }
    writing = null
  }

  /** Returns null for a deleted client. */
  async function nameOf(id: string, em: EntityManager): Promise<string | null> {
    try {
      return (await clients.get(id, em)).name
    } catch (error) {
      if (error instanceof Fault && error.errorCode.code === 'client_not_found') return null
      throw error
    }
  }

  const connection: ConnectionHooks = {
    joined: peer =>
      buffer('client.connected', peer, { agent_version: peer.agentVersion, remote_addr: peer.remoteAddr }),
    left: (peer, reason) => buffer('client.disconnected', peer, { reason })
  }

  async function state(
    { id, clientId, owner, state, reason }: rules.StateChange,
    em: EntityManager
  ): Promise<void> {
    if (state !== 'failed') return
    const data = { rule_id: id, client_id: clientId, owner, reason }
    await queue.put({ name: 'rule.failed', at: clock.now(), data }, em)
  }

  async function level(usage: quota.Level, em: EntityManager): Promise<void> {
    const name = usage.percent >= 100 ? 'quota.exhausted' : 'quota.warning'
    await queue.put({ name, at: clock.now(), data: quotaData(usage) }, em)
  }

  const flush = async (): Promise<void> => void (await writing)

  return { connection, state, level, flush }
}

const quotaData = ({ userId, clientId, percent, bytesUsed, monthlyBytes, periodEnd }: quota.Level) => ({
  user_id: userId,
  client_id: clientId,
  percent,
  bytes_used: bytesUsed,
  monthly_bytes: monthlyBytes,
  period_end: periodEnd
})
