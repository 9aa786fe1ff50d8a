import type { EntityManager } from '@mikro-orm/sql'
import { ackTimeout, Fault } from '../../kernel/base/errors.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { managesAll } from '../http/exports.ts'
import { type ClientQuery, deadlineMs, type Services } from './client-query.ts'
import { type CloseQuery, type Counts, connectionNotFound, type Filter, filterRequired } from './schema.ts'
import { Close, capability, List, type Selection } from './wire.ts'

/** A connected client and the selection there; a group rule is represented by its member. */
export interface Scope {
  readonly peer: Peer
  readonly selection: Selection
}

type ScopeResolver = (filter: Filter, principal: Principal, em: EntityManager) => Promise<readonly Scope[]>

type Change = Call['change']

/** Closes connections. Each close is in the audit log, with the closed connections. */
export interface ConnectionCloser {
  /**
   * Closes all connections that match the filter. Throws `ack_timeout` if a client does not answer; the others have
   * closed theirs by then, and the audit entry has their number.
   */
  close(query: CloseQuery, principal: Principal, change: Change): Promise<Counts>
  /** Throws `connection_not_found`, also for a connection of another user. */
  closeOne(connectionId: string, principal: Principal, change: Change): Promise<void>
}

export function openConnectionCloser(
  { control, store }: Services,
  query: ClientQuery,
  scopesFor: ScopeResolver
): ConnectionCloser {
  async function close(
    { dry_run = false, ...filter }: CloseQuery,
    principal: Principal,
    change: Change
  ): Promise<Counts> {
    if (Object.keys(filter).length === 0)
      throw new Fault(
        filterRequired,
        'give at least one filter: client, rule_id, owner, source, target, protocol'
      )
    const asked = await store.read(em => scopesFor(filter, principal, em))
    const answers = await Promise.allSettled(
      asked.map(({ peer, selection }) => (dry_run ? count(peer, selection) : end(peer, selection, '')))
    )
    const matched = answers.reduce(
      (sum, answer) => sum + (answer.status === 'fulfilled' ? answer.value : 0),
      0
    )
    if (!dry_run) await record(change, '*', { ...filter, connections: matched })
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason
    return { matched, closed: dry_run ? 0 : matched }
  }

  async function closeOne(connectionId: string, caller: Principal, change: Change): Promise<void> {
    const [clientId = '', run = '', id = ''] = connectionId.split('-')
    const peer = control.peers.find(clientId)
    const isId = run !== '' && run.length <= 26 && /^[0-9a-z]{1,10}$/.test(id)
    const selection = {
      ids: [Number.parseInt(id, 36)],
      path_words: [],
      ...(!managesAll(caller) && { owner: caller.userId })
    }
    const known = isId && peer?.can(capability) ? peer : null
    const found = known && (await expectAnswer(known, () => query.page(known, { selection, ...first })))
    const row = found?.entries.map(({ row }) => row).find(row => row.connection_id === connectionId)
    if (!known || !row || (await end(known, selection, run)) === 0)
      throw new Fault(connectionNotFound, `there is no open connection ${connectionId}`)
    const { connection_id: _, rtt_ms, retransmits, held_by, idle_secs, ...was } = row
    await record(change, connectionId, was)
  }

  return { close, closeOne }
}

const first = { sort: 'age', take: 1, after: null } as const

/** Records a close: the audit entry shows each field of the connection as removed. */
const record = (change: Change, id: string, was: object): Promise<void> =>
  change(
    {
      kind: 'connection',
      id,
      changes: () =>
        Object.entries(was)
          .filter(([, from]) => from !== null)
          .map(([field, from]) => ({ field, from, to: null }))
    },
    async () => {}
  )

const count = (peer: Peer, selection: Selection): Promise<number> =>
  expectAnswer(peer, async () => {
    const { matched } = await peer.request(List, { selection, sort: 'age', limit: 0 }, { deadlineMs })
    return matched
  })

const end = (peer: Peer, selection: Selection, run: string): Promise<number> =>
  expectAnswer(peer, async () => (await peer.request(Close, { selection, run }, { deadlineMs })).count)

/** Throws `ack_timeout` if the client does not answer. */
async function expectAnswer<T>({ clientId }: Peer, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    if (!(cause instanceof Refused)) throw cause
    throw new Fault(ackTimeout, `client ${clientId} did not answer: ${cause.message}`, { cause })
  }
}
