import { setImmediate } from 'node:timers/promises'
import type { EntityManager } from '@mikro-orm/sql'
import { earliest } from '../../kernel/base/clock.ts'
import { Fault, notOwner, userNotFound } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import type { CommittedBytes } from '../stats/exports.ts'
import * as samples from './samples.ts'
import type { Traffic as TrafficReply } from './schema.ts'
import { parseWindow, type Query } from './window.ts'

type UserFilter = Query & { readonly client_id?: string }
type ClientFilter = Query & { readonly user_id?: string }

export interface Traffic {
  /** Adds committed bytes in the ledger's transaction. */
  add(committed: readonly CommittedBytes[], em: EntityManager): Promise<[]>
  /** Throws `not_owner` or `user_not_found`. */
  ofUser(userId: string, query: UserFilter, principal: Principal): Promise<TrafficReply>
  /** Throws `client_not_found`. */
  ofClient(clientId: string, query: ClientFilter): Promise<TrafficReply>
  ofAll(query: Query): Promise<TrafficReply>
  /** Renames the series of a deleted user, in the transaction that deletes the user. */
  disown(userId: string, em: EntityManager): Promise<void>
  /** Deletes samples beyond their retention, in short transactions. */
  prune(): Promise<void>
}

interface Deps extends Kernel {
  readonly clients: Clients
}

export function openTraffic({ store, clock, log, clients }: Deps): Traffic {
  const nowSecs = (): number => Math.floor(clock.now() / 1000)

  async function read(
    query: Query,
    series: Partial<samples.SeriesKey>,
    em: EntityManager
  ): Promise<TrafficReply> {
    const window = parseWindow(query, nowSecs())
    const found = await samples.read(series, window, em)
    const total = (column: 'bytes_in' | 'bytes_out') =>
      found.reduce((sum, row) => Math.min(samples.maxBytes, sum + row[column]), 0)
    return {
      bucket: window.bucket,
      samples: found,
      total_bytes_in: total('bytes_in'),
      total_bytes_out: total('bytes_out')
    }
  }

  function ofUser(
    userId: string,
    { client_id: clientId, ...query }: UserFilter,
    principal: Principal
  ): Promise<TrafficReply> {
    parseWindow(query, nowSecs()) // refuses an invalid query before the lookup of user or client
    if (principal.role !== 'superadmin' && principal.userId !== userId)
      throw new Fault(notOwner, 'this is the traffic of another user')
    return store.read(async em => {
      if (userId !== operatorId && !(await em.count(User, { id: userId })))
        throw new Fault(userNotFound, `no user ${userId}`)
      return read(query, { userId, ...(clientId !== undefined && { clientId }) }, em)
    })
  }

  function ofClient(clientId: string, { user_id: userId, ...query }: ClientFilter): Promise<TrafficReply> {
    parseWindow(query, nowSecs())
    return store.read(async em => {
      await clients.get(clientId, em)
      return read(query, { clientId, ...(userId !== undefined && { userId }) }, em)
    })
  }

  const ofAll: Traffic['ofAll'] = query => store.read(em => read(query, {}, em))

  /** No user id begins with `~`. */
  const disown = (userId: string, em: EntityManager): Promise<void> =>
    samples.disown(userId, `~${newId(clock.now())}`, em)

  const add = (committed: readonly CommittedBytes[], em: EntityManager): Promise<[]> =>
    samples.add(committed, Math.floor(earliest(clock) / 1000), em)

  return { add, ofUser, ofClient, ofAll, disown, prune: () => prune({ store, clock, log }) }
}

/** Uses short transactions, so that heartbeats are answered in between. */
async function prune({ store, clock, log }: Pick<Kernel, 'store' | 'clock' | 'log'>): Promise<void> {
  try {
    for (let after: number | null = 0; after !== null; await setImmediate()) {
      const from: number = after
      after = await store.change(em => samples.pruneAfter(from, Math.floor(earliest(clock) / 1000), em))
    }
  } catch (error) {
    log.warn('traffic.not_tidied', `old samples were not deleted, retrying in an hour: ${String(error)}`)
  }
}
