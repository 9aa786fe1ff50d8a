import type { EntityManager } from '@mikro-orm/sql'
import { ackTimeout, Fault } from '../../kernel/base/errors.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Call } from '../../kernel/http/route.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { deadlineMs, type Looking, type Services } from './look.ts'
import { type CloseQuery, type Counts, connectionNotFound, type Filter, filterRequired } from './schema.ts'
import { Close, capability, Look, type Selection } from './wire.ts'

/** A connected client, and what is selected there: of a rule on many clients its own part. */
export interface Scope {
  readonly peer: Peer
  readonly selection: Selection
}

type ScopeOf = (filter: Filter, principal: Principal, em: EntityManager) => Promise<readonly Scope[]>

type Change = Call['change']

/** Returns what closes one connection, and all that a filter matches. The audit log has what was closed. */
export function openClosing({ control, store }: Services, look: Looking, scopeOf: ScopeOf) {
  /** Throws `ack_timeout` where a client has not answered: the others have closed theirs, and the entry says how many. */
  async function close(
    { dry_run = false, ...filter }: CloseQuery,
    principal: Principal,
    change: Change
  ): Promise<Counts> {
    if (Object.keys(filter).length === 0)
      throw new Fault(
        filterRequired,
        'give at least one of client, rule_id, owner, source, target and protocol'
      )
    const asked = await store.read(em => scopeOf(filter, principal, em))
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

  /** Throws `connection_not_found`, also for a connection of another. */
  async function closeOne(connectionId: string, { role, userId }: Principal, change: Change): Promise<void> {
    const [clientId = '', run = '', id = ''] = connectionId.split('-')
    const peer = control.peers.find(clientId)
    const isId = run !== '' && run.length <= 26 && /^[0-9a-z]{1,10}$/.test(id)
    const selection = { ids: [Number.parseInt(id, 36)], ...(role !== 'superadmin' && { owner: userId }) }
    const known = isId && peer?.can(capability) ? peer : null
    const found = known && (await answerOf(known, () => look.page(known, { selection, ...first })))
    const row = found?.found.map(({ row }) => row).find(row => row.connection_id === connectionId)
    if (!known || !row || (await end(known, selection, run)) === 0)
      throw new Fault(connectionNotFound, `there is no open connection ${connectionId}`)
    const { connection_id: _, rtt_ms, retransmits, held_by, idle_secs, ...was } = row
    await record(change, connectionId, was)
  }

  return { close, closeOne }
}

const first = { sort: 'age', take: 1, after: null } as const

/** What is closed no longer has its fields: they are what the entry says. */
const record = (change: Change, id: string, was: object): Promise<void> =>
  change(
    {
      ...{ kind: 'connection', id },
      changes: () => Object.entries(was).map(([field, from]) => ({ field, from, to: null }))
    },
    async () => {}
  )

const count = (peer: Peer, selection: Selection): Promise<number> =>
  answerOf(peer, async () => {
    const { matched } = await peer.request(Look, { selection, sort: 'age', limit: 0 }, { deadlineMs })
    return matched
  })

const end = (peer: Peer, selection: Selection, run: string): Promise<number> =>
  answerOf(peer, async () => (await peer.request(Close, { selection, run }, { deadlineMs })).count)

/** Throws `ack_timeout` where the client has not answered: the others have done what they were asked. */
async function answerOf<T>({ clientId }: Peer, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    if (!(cause instanceof Refused)) throw cause
    throw new Fault(ackTimeout, `client ${clientId} has not answered: ${cause.message}`, { cause })
  }
}
