import type { EntityManager } from '@mikro-orm/sql'
import { ackTimeout, Fault } from '../../kernel/base/errors.ts'
import type { Peer } from '../../kernel/control/peers.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { deadlineMs, type Services } from './look.ts'
import { type CloseQuery, type Counts, connectionNotFound, type Filter, filterRequired } from './schema.ts'
import { Close, capability, Look, type Selection } from './wire.ts'

/** A connected client, and what is selected there: of a rule on many clients its own part. */
export interface Scope {
  readonly peer: Peer
  readonly selection: Selection
}

type ScopeOf = (filter: Filter, principal: Principal, em: EntityManager) => Promise<readonly Scope[]>

/** Returns what closes one connection, and all that a filter matches. */
export function openClosing({ control, store }: Services, scopeOf: ScopeOf) {
  async function close({ dry_run = false, ...filter }: CloseQuery, principal: Principal): Promise<Counts> {
    if (Object.keys(filter).length === 0)
      throw new Fault(
        filterRequired,
        'give at least one of client, rule_id, owner, source, target and protocol'
      )
    const asked = await store.read(em => scopeOf(filter, principal, em))
    const counts = await Promise.all(
      asked.map(({ peer, selection }) => (dry_run ? count(peer, selection) : end(peer, selection, '')))
    )
    const matched = counts.reduce((sum, count) => sum + count, 0)
    return { matched, closed: dry_run ? 0 : matched }
  }

  /** Throws `connection_not_found`, also for a connection of another. */
  async function closeOne(connectionId: string, { role, userId }: Principal): Promise<void> {
    const [clientId = '', run = '', id = ''] = connectionId.split('-')
    const peer = control.peers.find(clientId)
    const isId = run !== '' && run.length <= 26 && /^[0-9a-z]{1,10}$/.test(id)
    const selection = { ids: [Number.parseInt(id, 36)], ...(role !== 'superadmin' && { owner: userId }) }
    const closed = isId && peer?.can(capability) ? await end(peer, selection, run) : 0
    if (closed === 0) throw new Fault(connectionNotFound, `there is no open connection ${connectionId}`)
  }

  return { close, closeOne }
}

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
