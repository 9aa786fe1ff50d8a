// One look at all clients that are meant: the first rows of all together, and what is known of each.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Client } from '../../kernel/identity/entities.ts'
import {
  deadlineMs,
  descending,
  type Found,
  type Looking,
  type Meant,
  type Page,
  type Services
} from './look.ts'
import { type ClientLook, type ConnectionsEvent, maxClients } from './schema.ts'
import { capability, type Selection, type Sort } from './wire.ts'

const patienceMs = 900 // an event does not wait longer for slow clients: their last answer counts, while it is young
const leastRows = 16

interface Question {
  readonly sort: Sort
  readonly limit: number
  readonly meant: (em: EntityManager) => Promise<Meant>
}

interface Answer extends Page {
  readonly at: number // monotonic
}

type Asked = Pick<Question, 'sort' | 'limit'>

/** The last answer of each client, and the clients that still owe one. */
class Answers {
  readonly byClient = new Map<string, Answer>()
  readonly #owing = new Set<string>()
  readonly #services: Services
  readonly #look: Looking
  readonly #asked: Asked

  constructor(services: Services, look: Looking, asked: Asked) {
    this.#services = services
    this.#look = look
    this.#asked = asked
  }

  /** Asks each client for few rows, and once more those that may have more of the first. */
  async ask(ids: readonly string[], selectionOn: Meant['selectionOn']): Promise<void> {
    const { limit } = this.#asked
    const share = Math.min(limit, Math.max(leastRows, Math.ceil((2 * limit) / Math.max(1, ids.length))))
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

  /** One that refuses or is too late has no answer; one that still owes an answer is not asked again. */
  async #askOne(clientId: string, selection: Selection, take: number): Promise<void> {
    const { control, clock } = this.#services
    const peer = control.peers.find(clientId)
    if (!peer?.can(capability)) this.byClient.delete(clientId)
    if (!peer?.can(capability) || this.#owing.has(clientId)) return
    this.#owing.add(clientId)
    try {
      const page = await this.#look.page(peer, { selection, sort: this.#asked.sort, take, after: null })
      this.byClient.set(clientId, { ...page, at: clock.monotonic() })
    } catch (error) {
      this.byClient.delete(clientId)
      this.#look.notAnswered(peer, error)
    } finally {
      this.#owing.delete(clientId)
    }
  }

  /** Forgets what is old, and clients that are not meant any more. */
  keep(ids: ReadonlySet<string>): void {
    const oldest = this.#services.clock.monotonic() - deadlineMs
    for (const [id, { at }] of this.byClient) if (!ids.has(id) || at < oldest) this.byClient.delete(id)
  }

  first(): readonly Found[] {
    const all = [...this.byClient.values()].flatMap(({ found }) => found)
    return all.sort(descending).slice(0, this.#asked.limit)
  }

  sum(key: 'matched' | 'bytes_in' | 'bytes_out'): number {
    return [...this.byClient.values()].reduce((total, answer) => total + answer[key], 0)
  }
}

/** Returns the function that looks once. */
export function openRounds(services: Services, look: Looking, { meant, ...asked }: Question) {
  const { store, clock, control } = services
  const answers = new Answers(services, look, asked)

  /** Returns the clients that are meant, and what to ask them. */
  const read = () =>
    store.read(async em => {
      const { clients, selectionOn } = await meant(em)
      const where = { revokedAt: null, ...(clients && { id: { $in: [...clients] } }) }
      const found = await em.find(Client, where, { fields: ['id', 'name'] })
      return { selectionOn, clients: found.map(({ id, name }) => ({ id, name })) }
    })

  function clientLook({ id, name }: { readonly id: string; readonly name: string }): ClientLook {
    const matched = answers.byClient.get(id)?.matched ?? null
    const peer = control.peers.find(id)
    const silence = !peer ? 'disconnected' : peer.can(capability) ? 'no_answer' : 'unsupported'
    return { client_id: id, client_name: name, state: matched === null ? silence : 'answered', matched }
  }

  return async (): Promise<ConnectionsEvent> => {
    const at = timestamp(clock.now())
    const { clients, selectionOn } = await read()
    const patience = Promise.withResolvers<void>()
    const cancel = clock.after(patienceMs, patience.resolve)
    const ids = clients.map(({ id }) => id)
    await Promise.race([answers.ask(ids, selectionOn), patience.promise]).finally(cancel)
    answers.keep(new Set(ids))
    const looks = clients.map(clientLook).sort(silentFirst)
    return {
      at,
      matched: answers.sum('matched'),
      bytes_in: answers.sum('bytes_in'),
      bytes_out: answers.sum('bytes_out'),
      clients_answered: answers.byClient.size,
      clients_silent: looks.length - answers.byClient.size,
      clients: looks.slice(0, maxClients),
      connections: answers.first().map(({ row }) => row)
    }
  }
}

const silentFirst = (a: ClientLook, b: ClientLook): number =>
  (b.matched ?? Number.POSITIVE_INFINITY) - (a.matched ?? Number.POSITIVE_INFINITY) ||
  a.client_name.localeCompare(b.client_name)
