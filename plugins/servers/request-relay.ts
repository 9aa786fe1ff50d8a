// Requests to agents at peers, through the store: the server with the session takes the row, and stores the answer.
import type { Static } from 'typebox'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Session } from '../../kernel/control/servers.ts'
import { newId } from '../../kernel/platform/id.ts'
import { shared } from '../../kernel/store/postgres/dialect.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import { Refusal } from '../../kernel/wire/envelope.ts'
import { Refused, type Response } from '../../kernel/wire/message.ts'
import type { ClusterOptions } from './cluster.ts'

interface Options extends Pick<ClusterOptions, 'codec' | 'clock' | 'log' | 'local'> {
  readonly signals: Signals
  readonly key: string // identifies this server
}

interface WaitOptions {
  readonly deadlineMs: number | undefined
  readonly ended: AbortSignal
}

const maxWaiting = 512 // for one client; a principal has at most 256 requests in flight, and 16 streams
const defaultMs = 10_000
const retentionMs = 60_000 // longer than any caller waits

interface RequestRow extends Session {
  readonly id: string
  readonly name: string
  readonly body: string
  readonly leftMs: number
}

export class RequestRelay {
  readonly #options: Options
  readonly #waiting = new Map<string, PromiseWithResolvers<Response>>()
  readonly #ofClient = new Map<string, number>() // waiting requests

  constructor(options: Options) {
    this.#options = options
  }

  /** Rejects with Refused, as a request on a stream of this server does. */
  async ask(
    { clientId, sessionId, boot }: Session & { readonly boot: string },
    { name, body }: Response,
    { deadlineMs = defaultMs, ended }: WaitOptions
  ): Promise<Response> {
    if (ended.aborted) throw closed()
    const waiting = this.#ofClient.get(clientId) ?? 0
    if (waiting >= maxWaiting)
      throw new Refused('wire.deadline', `${waiting} requests to this client already wait at its server`)
    const id = newId(this.#options.clock.now())
    const answer = Promise.withResolvers<Response>()
    answer.promise.catch(() => {}) // may reject while the insert runs, before anybody awaits it
    const giveUp = (): void => answer.reject(closed())
    this.#waiting.set(id, answer)
    this.#ofClient.set(clientId, waiting + 1)
    ended.addEventListener('abort', giveUp, { once: true })
    const cancel = this.#options.clock.after(deadlineMs, () =>
      answer.reject(new Refused('wire.deadline', `no answer within ${deadlineMs / 1000} s`))
    )
    try {
      await this.#options.signals.query(
        `insert into servers_request (id, requester, boot, client_id, session_id, name, body, deadline)
         values (?, ?, ?, ?, ?, ?, ?, ${shared.now} + ?)`,
        [id, this.#options.key, boot, clientId, sessionId, name, textOf(body), deadlineMs]
      )
      this.#options.signals.send()
      return await answer.promise
    } finally {
      await cancel()
      ended.removeEventListener('abort', giveUp)
      this.#waiting.delete(id)
      this.#left(clientId)
    }
  }

  #left(clientId: string): void {
    const waiting = (this.#ofClient.get(clientId) ?? 1) - 1
    if (waiting > 0) this.#ofClient.set(clientId, waiting)
    else this.#ofClient.delete(clientId)
  }

  /** Reads the answers to local requests, and answers the requests of peers. */
  async poll(): Promise<void> {
    if (this.#waiting.size > 0)
      for (const { id, name, body } of await this.#options.signals.query<{
        id: string
        name: string
        body: string
      }>(
        'delete from servers_request where requester = ? and answer is not null returning id, answer as name, body',
        [this.#options.key]
      ))
        this.#waiting.get(id)?.resolve({ name, body: bytesOf(body) })
    const asked = await this.#options.signals.query<RequestRow>(
      `update servers_request set boot = null where boot = ? and deadline > ${shared.now}
       returning id, client_id as "clientId", session_id as "sessionId", name, body, deadline - ${shared.now} as "leftMs"`,
      [this.#options.key]
    )
    for (const one of asked)
      this.#answer(one).catch(error =>
        this.#options.log.debug('server.relay_failed', String(error), { client_id: one.clientId })
      )
  }

  async #answer({ id, clientId, sessionId, name, body, leftMs }: RequestRow): Promise<void> {
    const peer = this.#options.local.find(clientId)
    const answer = await this.#exchange(
      peer?.sessionId === sessionId ? peer : undefined,
      { name, body: bytesOf(body) },
      leftMs
    )
    await this.#options.signals.query('update servers_request set answer = ?, body = ? where id = ?', [
      answer.name,
      textOf(answer.body),
      id
    ])
    this.#options.signals.send()
  }

  async #exchange(peer: Peer | undefined, message: Response, deadlineMs: number): Promise<Response> {
    try {
      if (!peer) throw closed()
      return await peer.forward(message, deadlineMs)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const refusal: Static<typeof Refusal.body> = { code: error.code, message: error.message }
      return { name: Refusal.name, body: this.#options.codec.encode(Refusal, refusal) }
    }
  }

  readonly tidy = (): Promise<unknown> =>
    this.#options.signals.query(`delete from servers_request where deadline < ${shared.now} - ${retentionMs}`)
}

const closed = (): Refused => new Refused('wire.closed', 'the stream has ended')
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'base64')
