// Connected agents: one session a client, the newer one in place of the older.

import { attributionOf } from '../../kernel/base/attribution.ts'
import { objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { type ConnectionHooks, connectionSlot, isCapable, type Peer } from '../../kernel/control/peers.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { Ended, ObjectRemoved, ObjectStatus } from '../../kernel/wire/control.ts'
import { frameLimit } from '../../kernel/wire/frame.ts'
import { type BoundHandler, bindHandlers, on } from '../../kernel/wire/message.ts'
import type { Stream } from '../../kernel/wire/stream.ts'
import { openConflicts } from './conflicts.ts'
import type { AuthenticatedAgent } from './handshake.ts'
import { type Outbox, openOutbox } from './outbox.ts'
import type { PendingResults } from './pending-results.ts'
import { openRecordResult } from './record-result.ts'
import type { RequestIds } from './request-ids.ts'

interface Options extends Pick<Kernel, 'store' | 'clock' | 'log' | 'filled'> {
  readonly generation: string
  readonly origins: RequestIds
  readonly pending: PendingResults
  readonly handlers: (peer: Peer) => readonly BoundHandler[]
}

interface Session {
  readonly peer: Peer
  readonly outbox: Outbox
}

const lastWordMs = 1_000
const minuteMs = 60_000

const whyEnded: Readonly<Record<string, string>> = {
  token_revoked: 'the token of this agent holds no more',
  replaced: 'a newer stream of this client has taken over',
  instance_conflict: 'another agent uses the bundle of this client; enroll each under a name of its own',
  shutting_down: 'the server stops'
}

export function openSessions(options: Options) {
  const { store, clock, log, filled, handlers } = options
  const sessions = new Map<string, Session>()
  const conflicts = openConflicts({ clock, log })
  const running = new Set<Promise<void>>()
  const hurry = new Set<() => void>() // who waits for a last word, when there is no time for it
  const settle = openRecordResult({ store, log }, options.pending)
  let isClosing = false
  const release = clock.every(minuteMs, () => run(minute()))

  const run = (work: Promise<void>): void => {
    const done = work
      .catch((error: unknown) =>
        log.error('control.session_failed', String(error), { ...attributionOf(error) })
      )
      .finally(() => running.delete(done))
    running.add(done)
  }

  const each = (tell: (connection: ConnectionHooks) => void): void => {
    for (const { by, value } of filled(connectionSlot))
      try {
        tell(value)
      } catch (error) {
        log.error('control.session_failed', `plugin ${by}: ${String(error)}`, { plugin: by })
      }
  }

  /** The agent has its Welcome, and from here on it is connected. */
  function join(known: AuthenticatedAgent, stream: Stream): void {
    if (isClosing) stream.end('shutting_down')
    if (stream.ended.aborted) return
    const peer = peerOf(known, stream)
    const older = sessions.get(peer.clientId)?.peer
    older?.end(conflicts.isOne(older, peer) ? 'instance_conflict' : 'replaced')
    const kinds = filled(objectKindSlot).map(({ value }) => value)
    const outbox = openOutbox({ ...options, peer, stream, kinds: kinds.reverse(), settle })
    sessions.set(peer.clientId, { peer, outbox })
    stream.serve([...words(outbox), ...handlers(peer)], frameLimit)
    stream.ended.addEventListener('abort', () => leave(peer), { once: true })
    log.info('client.connected', `client ${known.clientName} is connected`, {
      client_id: peer.clientId,
      client_name: known.clientName,
      agent_version: peer.agentVersion,
      remote_addr: peer.remoteAddr
    })
    each(({ joined }) => joined?.(peer))
    run(confirmed(known, peer).then(holds => (holds ? outbox.run(known.hello.state_digest) : undefined)))
  }

  /** A token that was revoked while its stream was joining has missed the cut. */
  async function confirmed({ clientId, tokenHash }: AuthenticatedAgent, peer: Peer): Promise<boolean> {
    const holds = await store.read(async em => (await em.count(Client, { id: clientId, tokenHash })) > 0)
    if (!holds) peer.end('token_revoked')
    return holds
  }

  function peerOf(
    { clientId, tokenHash, sessionId, hello, remoteAddr }: AuthenticatedAgent,
    stream: Stream
  ): Peer {
    const abilities = {
      agentVersion: hello.agent_version,
      capabilities: hello.capabilities?.versions ?? null
    }
    let isEnding = false
    const peer: Peer = {
      ...stream.channel,
      ...abilities,
      clientId,
      tokenHash,
      sessionId,
      remoteAddr,
      instanceId: hello.instance_id,
      connectedAt: clock.now(),
      ended: stream.ended,
      can: capability => isCapable(abilities, capability),
      end(reason) {
        if (isEnding) return
        isEnding = true
        forget(peer)
        const end = (): void => {
          stream.channel.send(Ended, { code: reason, message: whyEnded[reason] ?? reason })
          stream.end(reason)
        }
        if (reason === 'token_revoked') run(lastWord(peer, reason).finally(end))
        else end()
      }
    }
    return peer
  }

  async function lastWord(peer: Peer, reason: string): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const cancel = clock.after(lastWordMs, resolve)
    hurry.add(resolve)
    const words = filled(connectionSlot).map(({ value }) => value.leaving?.(peer, reason))
    await Promise.race([Promise.allSettled(words), late])
    hurry.delete(resolve)
    await cancel()
  }

  function forget(peer: Peer): void {
    if (sessions.get(peer.clientId)?.peer === peer) sessions.delete(peer.clientId)
  }

  function leave(peer: Peer): void {
    forget(peer)
    const reason = String(peer.ended.reason)
    log.info('client.disconnected', 'a client is disconnected', { client_id: peer.clientId, reason })
    each(({ left }) => left?.(peer, reason))
    run(seen([peer.clientId]))
  }

  async function seen(ids: readonly string[]): Promise<void> {
    await store.change(em => em.nativeUpdate(Client, { id: { $in: [...ids] } }, { lastSeenAt: clock.now() }))
  }

  async function minute(): Promise<void> {
    conflicts.sweep()
    if (sessions.size > 0) await seen([...sessions.keys()])
  }

  return {
    join,
    find: (clientId: string) => sessions.get(clientId)?.peer,
    all: () => [...sessions.values()].map(({ peer }) => peer),
    wake: (clientId: string) => sessions.get(clientId)?.outbox.wake(),
    async close() {
      isClosing = true
      await release()
      for (const { peer } of [...sessions.values()]) peer.end('shutting_down')
      for (const go of hurry) go()
      while (running.size > 0) await Promise.all(running)
    }
  }
}

const words = (outbox: Outbox): BoundHandler[] =>
  bindHandlers(
    [
      on(ObjectRemoved, (_: Outbox, row) => outbox.hear(row, { status: 'removed' })),
      on(ObjectStatus, (_: Outbox, { code, message, ...row }) =>
        outbox.hear(row, code === '' ? { status: 'applied' } : { status: 'refused', code, message })
      )
    ],
    () => outbox
  )
