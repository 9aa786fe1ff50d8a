// Polls all clients of a filter once: the first rows of all together, and the state of each client.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Client } from '../../kernel/identity/entities.ts'
import {
  type ClientQuery,
  type ConnectionEntry,
  deadlineMs,
  descending,
  type Page,
  type ResolvedFilter,
  type Services
} from './client-query.ts'
import { type ClientStatus, type ConnectionsEvent, maxClients } from './schema.ts'
import { capability, type Selection, type Sort } from './wire.ts'

const patienceMs = 900 // after that, a slow client is represented by its last answer, if that is recent
const minRows = 16

interface Question {
  readonly sort: Sort
  readonly limit: number
  readonly resolve: (em: EntityManager) => Promise<ResolvedFilter>
}

interface Answer extends Page {
  readonly at: number // monotonic
}

type Asked = Pick<Question, 'sort' | 'limit'>

/** The last answer of each client, and the clients with a pending request. */
class Answers {
  readonly byClient = new Map<string, Answer>()
  readonly #pending = new Set<string>()
  readonly #services: Services
  readonly #query: ClientQuery
  readonly #asked: Asked

  constructor(services: Services, query: ClientQuery, asked: Asked) {
    this.#services = services
    this.#query = query
    this.#asked = asked
  }

  /** Asks each client for a few rows, then asks again where the page may need more. */
  async ask(ids: readonly string[], selectionOn: ResolvedFilter['selectionOn']): Promise<void> {
    const { limit } = this.#asked
    const share = Math.min(limit, Math.max(minRows, Math.ceil((2 * limit) / Math.max(1, ids.length))))
    await Promise.all(ids.map(id => this.#askOne(id, selectionOn(id), share)))
    if (share === limit) return
    const rows = this.first()
    const last = rows.at(-1)
    const mayHaveMore = ids.filter(id => {
      const next = this.byClient.get(id)?.next
      return next && last && (rows.length < limit || descending(next, last) <= 0)
    })
    await Promise.all(mayHaveMore.map(id => this.#askOne(id, selectionOn(id), limit)))
  }

  /** Skips a client with a pending request. A client that refuses or times out has no answer. */
  async #askOne(clientId: string, selection: Selection, take: number): Promise<void> {
    const { control, clock } = this.#services
    const peer = control.peers.find(clientId)
    if (!peer?.can(capability)) this.byClient.delete(clientId)
    if (!peer?.can(capability) || this.#pending.has(clientId)) return
    this.#pending.add(clientId)
    try {
      const page = await this.#query.page(peer, { selection, sort: this.#asked.sort, take, after: null })
      this.byClient.set(clientId, { ...page, at: clock.monotonic() })
    } catch (error) {
      this.byClient.delete(clientId)
      this.#query.logNoAnswer(peer, error)
    } finally {
      this.#pending.delete(clientId)
    }
  }

  /** Evicts stale answers, and answers of clients that no longer match. */
  evictExcept(ids: ReadonlySet<string>): void {
    const oldest = this.#services.clock.monotonic() - deadlineMs
    for (const [id, { at }] of this.byClient) if (!ids.has(id) || at < oldest) this.byClient.delete(id)
  }

  first(): readonly ConnectionEntry[] {
    const all = [...this.byClient.values()].flatMap(({ entries }) => entries)
    return all.sort(descending).slice(0, this.#asked.limit)
  }

  sum(key: 'matched' | 'bytes_in' | 'bytes_out'): number {
    return [...this.byClient.values()].reduce((total, answer) => total + answer[key], 0)
  }
}

/** Returns a function that polls once. */
export function openPollRound(
  services: Services,
  query: ClientQuery,
  { resolve, ...asked }: Question
): () => Promise<ConnectionsEvent> {
  const { store, clock, control } = services
  const answers = new Answers(services, query, asked)

  /** Returns the clients of the filter, and the selection for each. */
  const readClients = () =>
    store.read(async em => {
      const { clients, selectionOn } = await resolve(em)
      const where = { revokedAt: null, ...(clients && { id: { $in: [...clients] } }) }
      const found = await em.find(Client, where, { fields: ['id', 'name'] })
      return { selectionOn, clients: found.map(({ id, name }) => ({ id, name })) }
    })

  function statusOfClient({ id, name }: { readonly id: string; readonly name: string }): ClientStatus {
    const matched = answers.byClient.get(id)?.matched ?? null
    const peer = control.peers.find(id)
    const reason = !peer ? 'disconnected' : peer.can(capability) ? 'no_answer' : 'unsupported'
    return { client_id: id, client_name: name, state: matched === null ? reason : 'answered', matched }
  }

  return async (): Promise<ConnectionsEvent> => {
    const at = timestamp(clock.now())
    const { clients, selectionOn } = await readClients()
    const patience = Promise.withResolvers<void>()
    const cancel = clock.after(patienceMs, patience.resolve)
    const ids = clients.map(({ id }) => id)
    await Promise.race([answers.ask(ids, selectionOn), patience.promise]).finally(cancel)
    answers.evictExcept(new Set(ids))
    const statuses = clients.map(statusOfClient).sort(silentFirst)
    return {
      at,
      matched: answers.sum('matched'),
      bytes_in: answers.sum('bytes_in'),
      bytes_out: answers.sum('bytes_out'),
      clients_answered: answers.byClient.size,
      clients_silent: statuses.length - answers.byClient.size,
      clients: statuses.slice(0, maxClients),
      connections: answers.first().map(({ row }) => row)
    }
  }
}

const silentFirst = (a: ClientStatus, b: ClientStatus): number =>
  (b.matched ?? Number.POSITIVE_INFINITY) - (a.matched ?? Number.POSITIVE_INFINITY) ||
  a.client_name.localeCompare(b.client_name)
