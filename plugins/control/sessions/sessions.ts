// Connected agents: one session for each client. A newer session replaces the older one.
import { setTimeout as pause } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { attributionOf } from '../../../kernel/base/attribution.ts'
import type { ControlOptions } from '../../../kernel/control/host.ts'
import { type ConnectionHooks, connectionSlot, isCapable, type Peer } from '../../../kernel/control/peers.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { ObjectRemoved, ObjectStatus } from '../../../kernel/wire/control.ts'
import { frameLimit } from '../../../kernel/wire/frame.ts'
import { type BoundHandler, bindHandlers, on, Refused } from '../../../kernel/wire/message.ts'
import type { Stream } from '../../../kernel/wire/stream.ts'
import type { Cluster, LocalSessions } from '../../servers/exports.ts'
import { endStream } from '../listener/end-stream.ts'
import type { AuthenticatedAgent } from '../listener/handshake.ts'
import { returnWithinMs } from '../listener/return-time.ts'
import type { WorkBudget, WorkBudgets } from '../listener/work-budget.ts'
import { Outbox } from '../objects/outbox.ts'
import type { OutboxOptions } from '../objects/push-window.ts'
import type { RecordResult } from '../objects/record-result.ts'
import { type InstanceConflicts, openInstanceConflicts } from './instance-conflicts.ts'
import type { LastSeen } from './last-seen.ts'

interface Options
  extends Omit<OutboxOptions, 'peer' | 'stream' | 'kinds' | 'generation' | 'record' | 'changeNumber'>,
    Pick<ControlOptions, 'filled' | 'handlers'> {
  readonly kinds: () => OutboxOptions['kinds']
  readonly budgets: WorkBudgets
  readonly record: RecordResult
  readonly lastSeen: Pick<LastSeen, 'seen' | 'left'>
  readonly servers: Pick<Cluster, 'changeNumber' | 'inForce' | 'remotePeers'>
}

interface Session {
  readonly peer: Peer
  readonly outbox: Outbox
  readonly budget: WorkBudget
}

const lastReportMs = 1_000
const minuteMs = 60_000
const minWaveSize = 100
const maxWaves = 20
const waveMs = 100

export class Sessions {
  readonly #options: Options
  readonly #sessions = new Map<string, Session>()
  readonly #conflicts: InstanceConflicts
  readonly #running = new Set<Promise<void>>()
  /** Functions that end waits for the last reports of agents. */
  readonly #ending = new Set<() => void>()
  readonly #stopUpkeep: () => unknown
  #isClosing = false
  #returnWithinMs: number | undefined // sent to agents when the server stops
  /** Agents that were sent to peers. Their sessions count as local until a peer has taken them. */
  #handedOver: Map<string, Peer> | null = null

  constructor(options: Options) {
    this.#options = options
    this.#conflicts = openInstanceConflicts({
      ...options,
      report: conflict => {
        for (const { value } of options.filled(connectionSlot))
          if (value.contested) this.#run(value.contested(conflict))
      }
    })
    this.#stopUpkeep = options.clock.every(minuteMs, () => this.#run(this.#upkeep()))
  }

  find(clientId: string): Peer | undefined {
    return this.#sessions.get(clientId)?.peer
  }

  all(): readonly Peer[] {
    return [...this.#sessions.values()].map(({ peer }) => peer)
  }

  /** Ends a session that another one has replaced, here or at a peer. */
  readonly replaced: LocalSessions['replaced'] = (older, by) =>
    older.end(this.#conflicts.isConflict(older, by) ? 'instance_conflict' : 'replaced')

  /** Throws Refused if another process holds the session of this client, and the two compete for it. */
  readonly requireUncontested = (agent: Pick<Peer, 'clientId' | 'instanceId' | 'remoteAddr'>): void => {
    const holder = this.find(agent.clientId) ?? this.#options.servers.remotePeers.find(agent.clientId)
    if (holder) this.#conflicts.requireUncontested(agent, holder)
  }

  endAll(reason: string): void {
    for (const peer of this.all()) peer.end(reason)
  }

  wake(clientId: string): void {
    this.#sessions.get(clientId)?.outbox.wake()
  }

  /** Call it when the agent has its Welcome: from then on it is connected. */
  join(agent: AuthenticatedAgent, stream: Stream, budget: WorkBudget): void {
    if (this.#isClosing) endStream(stream, 'shutting_down', this.#returnWithinMs)
    if (stream.ended.aborted) return
    const { kinds, handlers, log, record } = this.#options
    const peer = this.#openPeer(agent, stream)
    const { clientId } = peer
    const older = this.find(clientId)
    if (older) this.replaced(older, peer)
    const outbox = new Outbox({
      ...this.#options,
      peer,
      stream,
      generation: agent.generation,
      kinds: kinds(),
      record: (row, result) => record(row, result, peer.sessionId),
      changeNumber: this.#options.servers.changeNumber
    })
    this.#sessions.set(clientId, { peer, outbox, budget })
    // Bound when a message arrives: bound for all messages, the handlers would be the largest part of a session.
    stream.serve(name => {
      const handler = reportHandlers(outbox).find(handler => handler.name === name) ?? handlers(peer, name)[0]
      return handler && budget.handler(handler)
    }, frameLimit)
    stream.ended.addEventListener('abort', () => this.#left(peer), { once: true })
    log.info('client.connected', `client ${agent.clientName} is connected`, {
      client_id: clientId,
      client_name: agent.clientName,
      agent_version: peer.agentVersion,
      remote_addr: peer.remoteAddr
    })
    this.#notify(({ joined }) => joined?.(peer))
    this.#run(this.#runOutbox(peer, outbox, agent.hello.state_digest))
  }

  isHandedOver(clientId: string): boolean {
    return this.#handedOver?.has(clientId) ?? false
  }

  /** Sends the agents to peers, in waves that do not flood them. */
  async leave(): Promise<void> {
    this.#handedOver = new Map()
    this.#refuseNewcomers()
    const peers = this.all()
    const size = Math.max(minWaveSize, Math.ceil(peers.length / maxWaves))
    for (let at = 0; at < peers.length; at += size) {
      if (at > 0) await pause(waveMs)
      for (const peer of peers.slice(at, at + size)) peer.end('shutting_down')
    }
  }

  async close(): Promise<void> {
    this.#refuseNewcomers()
    await this.#stopUpkeep()
    this.endAll('shutting_down')
    for (const peer of this.#handedOver?.values() ?? []) this.#run(this.#options.lastSeen.left(peer))
    this.#handedOver = null
    for (const endNow of this.#ending) endNow()
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  #refuseNewcomers(): void {
    this.#isClosing = true
    this.#returnWithinMs ??= returnWithinMs(this.#sessions.size)
  }

  /** Runs the outbox. Ends the session if its token was revoked while it joined, since the revocation missed it. */
  async #runOutbox(peer: Peer, outbox: Outbox, digest: string): Promise<void> {
    const client = { id: peer.clientId, tokenHash: peer.tokenHash }
    const isValid = await this.#options.store.read(async em => (await em.count(Client, client)) > 0)
    if (isValid) await outbox.run(digest)
    else peer.end('token_revoked')
  }

  #openPeer(of: AuthenticatedAgent, stream: Stream): Peer {
    const { clientId, tokenHash, sessionId, hello, remoteAddr, connectedAt, capabilities } = of
    const agent = { agentVersion: hello.agent_version, capabilities }
    let isEnding = false
    const end = (reason: string): void => {
      if (isEnding) return
      isEnding = true
      this.#remove(peer)
      const endNow = (): void => endStream(stream, reason, this.#returnWithinMs)
      if (reason === 'token_revoked') this.#run(this.#lastReport(peer, reason).finally(endNow))
      else endNow()
    }
    const peer: Peer = {
      ...stream.channel,
      ...agent,
      clientId,
      tokenHash,
      sessionId,
      remoteAddr,
      instanceId: hello.instance_id,
      connectedAt,
      ended: stream.ended,
      isElsewhere: false,
      can: capability => isCapable(agent, capability),
      end,
      change: work => this.#change(peer, work)
    }
    return peer
  }

  #change<T>(peer: Peer, work: (em: EntityManager) => Promise<T>): Promise<T> {
    const { store, servers } = this.#options
    return store.change(async em => {
      const inForce = await servers.inForce([peer], em)
      if (!inForce.has(peer.sessionId))
        throw new Refused('wire.closed', 'another session has replaced this one')
      return work(em)
    })
  }

  /** Gives plugins 1 s to ask the agent for a last report, and no time if the server stops. */
  async #lastReport(peer: Peer, reason: string): Promise<void> {
    const { promise: timeout, resolve } = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(lastReportMs, resolve)
    this.#ending.add(resolve)
    const reports = this.#options.filled(connectionSlot).map(({ value }) => value.leaving?.(peer, reason))
    await Promise.race([Promise.allSettled(reports), timeout])
    this.#ending.delete(resolve)
    await cancel()
  }

  #remove(peer: Peer): void {
    if (this.find(peer.clientId) === peer) this.#sessions.delete(peer.clientId)
  }

  #left(peer: Peer): void {
    this.#remove(peer)
    const { clientId: client_id, ended } = peer
    const reason = String(ended.reason)
    this.#options.log.info('client.disconnected', 'a client is disconnected', { client_id, reason })
    this.#notify(({ left }) => left?.(peer, reason))
    if (this.#handedOver) this.#handedOver.set(client_id, peer)
    else this.#run(this.#options.lastSeen.left({ clientId: client_id, sessionId: peer.sessionId }))
  }

  async #upkeep(): Promise<void> {
    this.#conflicts.sweep()
    this.#endFlooding()
    this.#options.budgets.sweep(key => this.#sessions.has(key))
    await Promise.all(
      this.all().map(({ clientId, sessionId }) => this.#options.lastSeen.seen({ clientId, sessionId }))
    )
  }

  #endFlooding(): void {
    for (const { peer, budget } of this.#sessions.values())
      if (budget.isOverrun) {
        const { clientId: client_id, remoteAddr: remote_addr } = peer
        this.#options.log.warn('client.flooding', 'an agent uses more than its share of the server', {
          client_id,
          remote_addr
        })
        peer.end('flooding')
      }
  }

  #run(work: Promise<void>): void {
    const { log } = this.#options
    const done = work
      .catch((error: unknown) =>
        log.error('control.session_failed', String(error), { ...attributionOf(error) })
      )
      .finally(() => this.#running.delete(done))
    this.#running.add(done)
  }

  #notify(call: (hooks: ConnectionHooks) => void): void {
    const { log, filled } = this.#options
    for (const { by, value } of filled(connectionSlot))
      try {
        call(value)
      } catch (error) {
        log.error('control.session_failed', `plugin ${by}: ${String(error)}`, { plugin: by })
      }
  }
}

const reportHandlers = (outbox: Outbox): BoundHandler[] =>
  bindHandlers(
    [
      on(ObjectRemoved, (_: Outbox, object) => outbox.report(object, { status: 'removed' })),
      on(ObjectStatus, (_: Outbox, { code, message, ...object }) =>
        outbox.report(object, code === '' ? { status: 'applied' } : { status: 'refused', code, message })
      )
    ],
    () => outbox
  )
