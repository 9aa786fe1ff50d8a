// Maps agents to the server with their session. Each client has one row; the next session replaces it.
import type { EntityManager } from '@mikro-orm/sql'
import { reasonOf } from '../../kernel/base/errors.ts'
import { isCapable, type Peer } from '../../kernel/control/peers.ts'
import type { Session } from '../../kernel/control/servers.ts'
import { shared } from '../../kernel/store/postgres/dialect.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { answerOf } from '../../kernel/wire/rpc.ts'
import { type Cluster, type ClusterOptions, movedReason, type TakenSession } from './cluster.ts'
import type { RequestRelay } from './request-relay.ts'
import type { ServerRegistry } from './server-registry.ts'

interface Options extends Pick<ClusterOptions, 'codec' | 'clock' | 'log' | 'local'> {
  readonly signals: Signals
  readonly registry: ServerRegistry
  readonly relay: RequestRelay
  readonly dropped: (clientId: string) => void // called when a remote session has ended
}

/** A stored session. */
interface Row extends Session {
  readonly boot: string | null // key of its server; null: the session has ended
  readonly tokenHash: string
  readonly instanceId: string
  readonly remoteAddr: string
  readonly connectedAt: number
  readonly ending: string | null // a peer's reason to end it
  readonly agentVersion: string | null
  readonly capabilities: string | null
}

interface RemoteSession {
  readonly boot: string
  readonly peer: Peer
  readonly ended: AbortController
}

const joiningMs = 60_000 // from the answer to Hello until the session has joined

export class SessionDirectory {
  readonly #options: Options
  readonly #sessions = new Map<string, RemoteSession>() // remote ones, by client
  readonly #woken = new WeakMap<Peer, number>() // the revision that last woke a session
  #joins = 0 // of the registry, at the last poll
  #seen = 0 // changes below this number have been read

  constructor(options: Options) {
    this.#options = options
  }

  find(clientId: string): Peer | undefined {
    return this.#sessions.get(clientId)?.peer
  }

  all(): readonly Peer[] {
    return [...this.#sessions.values()]
      .map(({ peer }) => peer)
      .filter(({ clientId }) => !this.#options.local.find(clientId))
  }

  /** In another database, or an earlier state, the change numbers start over. */
  readonly restored = (): void => {
    this.#seen = 0
  }

  /** Reads the sessions and clients that have changed since the last poll. */
  async poll(): Promise<void> {
    if (this.#joins !== this.#options.registry.joins) this.#seen = 0 // a peer that was seen as dead still has its sessions
    this.#joins = this.#options.registry.joins
    const rows = await this.#options.signals.query<
      Row & { readonly next: number; readonly clientId: string | null }
    >(
      `with base as (select ${shared.oldest} as next)
       select base.next, session.client_id as "clientId", session.session_id as "sessionId", session.boot,
       session.token_hash as "tokenHash", session.instance_id as "instanceId", session.remote_addr as "remoteAddr",
       session.connected_at as "connectedAt", session.ending, client.agent_version as "agentVersion", client.capabilities
       from base left join servers_session session on session.changed >= ?
       left join kernel_client client on client.id = session.client_id`,
      [this.#seen]
    )
    const clients = await this.#options.signals.query<{ id: string; revision: number }>(
      `select client.id, client.revision from kernel_client client
       join servers_session session on session.client_id = client.id
       where client.changed >= ? and session.boot = ?`,
      [this.#seen, this.#options.registry.key]
    )
    for (const row of rows) if (row.clientId !== null) await this.#update(row)
    for (const { id, revision } of clients) this.#wake(id, revision)
    this.#seen = rows[0]?.next ?? this.#seen
  }

  async #update(row: Row): Promise<void> {
    const { clientId, sessionId, boot, ending } = row
    const own = this.#options.local.find(clientId)
    const isElsewhere = boot !== null && boot !== this.#options.registry.key
    if (own && own.sessionId === sessionId && ending !== null) own.end(ending)
    if (own && own.sessionId !== sessionId && isElsewhere) await this.#requireOwn(own)
    if (isElsewhere && this.#sessions.get(clientId)?.peer.sessionId === sessionId) return
    if (boot === this.#options.registry.key && !own) return // about to join here; until then it counts as where it was
    this.#drop(clientId, boot === null ? 'left' : movedReason)
    if (isElsewhere) this.#sessions.set(clientId, this.#peerOf(row, boot))
  }

  /** Ends the session if the store has another one for the client. Reads again, because a polled row may be outdated. */
  async #requireOwn(own: Peer): Promise<void> {
    const [row] = await this.#options.signals.query<Omit<TakenSession, 'connectedAt'>>(
      `select client_id as "clientId", session_id as "sessionId", token_hash as "tokenHash",
       instance_id as "instanceId", remote_addr as "remoteAddr" from servers_session where client_id = ?`,
      [own.clientId]
    )
    if (row && row.sessionId !== own.sessionId) this.#options.local.replaced(own, row)
  }

  /** Drops the sessions of dead servers; their agents reconnect. */
  forgetDead(): void {
    for (const [clientId, { boot }] of this.#sessions)
      if (!this.#options.registry.isLive(boot))
        this.#drop(clientId, this.#options.local.find(clientId) ? movedReason : 'left')
  }

  #drop(clientId: string, reason: string): void {
    const known = this.#sessions.get(clientId)
    if (!known) return
    this.#sessions.delete(clientId)
    known.ended.abort(reason)
    this.#options.dropped(clientId)
  }

  #wake(clientId: string, revision: number): void {
    const peer = this.#options.local.find(clientId)
    if (!peer || this.#woken.get(peer) === revision) return
    this.#woken.set(peer, revision)
    this.#options.local.wake(clientId)
  }

  #peerOf({ boot: _, ending, agentVersion, capabilities, ...row }: Row, boot: string): RemoteSession {
    const { codec, relay } = this.#options
    const ended = new AbortController()
    const agent = {
      agentVersion: agentVersion ?? '',
      capabilities:
        capabilities === null ? null : (JSON.parse(capabilities) as Readonly<Record<string, string>> | null)
    }
    const at = { clientId: row.clientId, sessionId: row.sessionId, boot }
    const peer: Peer = {
      ...row,
      ...agent,
      ended: ended.signal,
      isElsewhere: true,
      can: capability => isCapable(agent, capability),
      async request({ response, ...request }, body, options) {
        const message = { name: request.name, body: codec.encode(request, body) }
        return answerOf(codec, response, await peer.forward(message, options?.deadlineMs))
      },
      send: (message, body) =>
        void peer.forward({ name: message.name, body: codec.encode(message, body) }).catch(() => {}),
      forward: (message, deadlineMs) => relay.ask(at, message, { deadlineMs, ended: ended.signal }),
      end: reason => void this.#end(at, reason),
      change: () => Promise.reject(new TypeError('the session belongs to another server'))
    }
    return { boot, peer, ended }
  }

  async #end({ clientId, sessionId }: Session, reason: string): Promise<void> {
    try {
      await this.#options.signals.query(
        `update servers_session set ending = ?, changed = ${shared.changeNumber} where client_id = ? and session_id = ?`,
        [reason, clientId, sessionId]
      )
      this.#options.signals.send()
    } catch (error) {
      this.#options.log.warn('server.end_session_failed', `its server ends it later: ${reasonOf(error)}`, {
        client_id: clientId
      })
    }
  }

  /** Stores the sessions. The last writer of a client's row has its session. */
  async take(taken: readonly TakenSession[], em: EntityManager): Promise<void> {
    for (const some of rowBatches(taken, 7))
      await em.execute(
        `insert into servers_session (client_id, session_id, boot, epoch, token_hash, instance_id, remote_addr, connected_at, changed)
         values ${some.map(() => `(?, ?, ?, 1, ?, ?, ?, ?, ${shared.changeNumber})`)}
         on conflict (client_id) do update set session_id = excluded.session_id, boot = excluded.boot,
         epoch = servers_session.epoch + 1, token_hash = excluded.token_hash, instance_id = excluded.instance_id,
         remote_addr = excluded.remote_addr, connected_at = excluded.connected_at, ending = null, changed = excluded.changed`,
        some.flatMap(({ clientId, sessionId, tokenHash, instanceId, remoteAddr, connectedAt }) => [
          clientId,
          sessionId,
          this.#options.registry.key,
          tokenHash,
          instanceId,
          remoteAddr,
          connectedAt
        ]),
        'run'
      )
  }

  readonly inForce: Cluster['inForce'] = async (of, em) => {
    const found = new Set<string>()
    for (const some of rowBatches(of, 2))
      for (const { id } of await em.execute<{ id: string }[]>(
        `select session_id as id from servers_session
         where (client_id, session_id) in (values ${some.map(() => '(?, ?)')}) order by client_id ${shared.keep}`,
        some.flatMap(({ clientId, sessionId }) => [clientId, sessionId])
      ))
        found.add(id)
    return found
  }

  readonly end: Cluster['endSessions'] = async (of, em) => {
    const ids: string[] = []
    for (const some of rowBatches(of, 2))
      for (const { id } of await em.execute<{ id: string }[]>(
        `update servers_session set boot = null, changed = ${shared.changeNumber}
         where (client_id, session_id) in (values ${some.map(() => '(?, ?)')}) returning client_id as id`,
        some.flatMap(({ clientId, sessionId }) => [clientId, sessionId])
      ))
        ids.push(id)
    return ids
  }

  /** Ends local sessions with a revoked or replaced token, because the signal of the revoking server may be lost. */
  async endRevoked(): Promise<void> {
    const { local, signals, registry } = this.#options
    for (const clientId of this.#sessions.keys()) if (local.find(clientId)) this.#drop(clientId, movedReason)
    const rows = await signals.query<Session>(
      `select session.client_id as "clientId", session.session_id as "sessionId"
       from servers_session session left join kernel_client client on client.id = session.client_id
       where session.boot = ? and client.token_hash is distinct from session.token_hash`,
      [registry.key]
    )
    for (const { clientId, sessionId } of rows) {
      const own = local.find(clientId)
      if (own?.sessionId === sessionId) own.end('token_revoked')
    }
  }

  /** Ends the rows of streams that closed before they joined. */
  async tidy(): Promise<void> {
    const { local, signals, registry, clock } = this.#options
    const rows = await signals.query<Session>(
      `select client_id as "clientId", session_id as "sessionId" from servers_session
       where boot = ? and connected_at < ?`,
      [registry.key, clock.now() - joiningMs]
    )
    const isLost = ({ clientId, sessionId }: Session): boolean =>
      !local.isHandedOver(clientId) && local.find(clientId)?.sessionId !== sessionId
    for (const { clientId, sessionId } of rows.filter(isLost))
      await signals.query(
        `update servers_session set boot = null, changed = ${shared.changeNumber} where client_id = ? and session_id = ?`,
        [clientId, sessionId]
      )
  }
}
