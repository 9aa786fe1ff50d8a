// From what happens in the server to events: each slot's filler.
import type { ConnectionHooks, EntityManager, Kernel, Peer, quota, rules } from 'sluice/plugin'
import type { Event, Outbox } from './outbox.ts'
import type { config } from './settings.ts'

interface Services extends Pick<Kernel<typeof config>, 'store' | 'clock' | 'log'> {
  readonly outbox: Outbox
  readonly clients: { get(id: string, em: EntityManager): Promise<{ readonly name: string }> }
}

interface Waiting extends Event {
  readonly clientId: string
}

const batch = 100

export type Tellers = ReturnType<typeof openTellers>

export function openTellers({ outbox, clients, store, clock, log }: Services) {
  const waiting: Waiting[] = []
  let writing: Promise<void> | null = null

  /** Streams come and go outside of any transaction: theirs are written right after, many in one. */
  function tell(name: Event['name'], { clientId, sessionId }: Peer, more: object): void {
    if (!outbox.wants(name)) return
    waiting.push({ name, clientId, at: clock.now(), data: { session_id: sessionId, ...more } })
    writing ??= writeAll()
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const events = waiting.splice(0, batch)
      await store
        .change(async em => {
          for (const { clientId, data, ...event } of events) {
            const client = { client_id: clientId, client_name: await nameOf(clientId, em) }
            await outbox.put({ ...event, data: { ...client, ...data } }, em)
          }
        })
        .catch(error => log.error('webhook.not_queued', String(error), { count: events.length }))
    }
    writing = null
  }

  /** Null for a client that has been deleted since. */
  const nameOf = (id: string, em: EntityManager): Promise<string | null> =>
    clients.get(id, em).then(
      ({ name }) => name,
      () => null
    )

  const connection: ConnectionHooks = {
    joined: peer =>
      tell('client.connected', peer, { agent_version: peer.agentVersion, remote_addr: peer.remoteAddr }),
    left: (peer, reason) => tell('client.disconnected', peer, { reason })
  }

  async function state(
    { id, clientId, owner, state, reason }: rules.StateChange,
    em: EntityManager
  ): Promise<void> {
    if (state !== 'failed') return
    const data = { rule_id: id, client_id: clientId, owner, reason }
    await outbox.put({ name: 'rule.failed', at: clock.now(), data }, em)
  }

  async function level({ percent, ...of }: quota.Level, em: EntityManager): Promise<void> {
    const data = {
      user_id: of.userId,
      client_id: of.clientId,
      percent,
      bytes_used: of.bytesUsed,
      monthly_bytes: of.monthlyBytes,
      period_end: of.periodEnd
    }
    const name = percent >= 100 ? 'quota.exhausted' : 'quota.warning'
    await outbox.put({ name, at: clock.now(), data }, em)
  }

  return { connection, state, level, written: async () => void (await writing) }
}
