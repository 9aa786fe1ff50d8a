// The queries of the history.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault, notOwner, userNotFound } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { User } from '../../kernel/identity/entities.ts'
import { operatorId } from '../../kernel/identity/identity.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Clients } from '../clients/exports.ts'
import { seesAll } from '../http/exports.ts'
import { type Rules, ruleNotFound } from '../rules/exports.ts'
import { maxCount } from './counts.ts'
import type { FoldQueue } from './fold-queue.ts'
import type { Ranked } from './names.ts'
import { mayRead } from './removed-rules.ts'
import { readPair, readRule, type Sample } from './samples.ts'
import type { TopRow, Traffic as TrafficReply } from './schema.ts'
import { top } from './top.ts'
import { parseTopWindow, parseWindow, type Query, type Window } from './window.ts'

type UserFilter = Query & { readonly client_id?: string }
type ClientFilter = Query & { readonly user_id?: string }
type TopQuery = Pick<Query, 'from' | 'to'> & { readonly by?: Ranked; readonly limit?: number }

/** All queries include what was committed before. */
export interface TrafficQueries {
  /** Throws `not_owner` or `user_not_found`. */
  ofUser(userId: string, query: UserFilter, principal: Principal): Promise<TrafficReply>
  /** Throws `client_not_found`. */
  ofClient(clientId: string, query: ClientFilter): Promise<TrafficReply>
  /** Throws `rule_not_found` or `not_owner`. A deleted rule has samples for 7 days. */
  ofRule(ruleId: string, query: Query, principal: Principal): Promise<TrafficReply>
  ofAll(query: Query): Promise<TrafficReply>
  /** Ranks what the principal may see. */
  top(query: TopQuery, principal: Principal): Promise<TopRow[]>
}

interface Deps extends Kernel {
  readonly clients: Clients
  readonly rules: Rules
}

const defaultLimit = 10

export function openQueries(deps: Deps, fold: FoldQueue['fold']): TrafficQueries {
  const { store, clock, clients, rules } = deps
  const nowSecs = (): number => Math.floor(clock.now() / 1000)

  /** Refuses an invalid query before the lookup of user, client or rule. */
  async function query(
    asked: Query,
    load: (window: Window, em: EntityManager) => Promise<Sample[]>
  ): Promise<TrafficReply> {
    const window = parseWindow(asked, nowSecs())
    await fold()
    return toReply(window, await store.read(em => load(window, em)))
  }

  function ofUser(
    userId: string,
    { client_id: clientId, ...asked }: UserFilter,
    principal: Principal
  ): Promise<TrafficReply> {
    if (!seesAll(principal) && principal.userId !== userId)
      throw new Fault(notOwner, 'this is the traffic of another user')
    return query(asked, async (window, em) => {
      if (userId !== operatorId && !(await em.count(User, { id: userId })))
        throw new Fault(userNotFound, `no user ${userId}`)
      return readPair({ userId, ...(clientId !== undefined && { clientId }) }, window, em)
    })
  }

  const ofClient: TrafficQueries['ofClient'] = (clientId, { user_id: userId, ...asked }) =>
    query(asked, async (window, em) => {
      await clients.get(clientId, em)
      return readPair({ clientId, ...(userId !== undefined && { userId }) }, window, em)
    })

  /** Judges the caller before the query, as other routes of a rule do. */
  async function ofRule(ruleId: string, asked: Query, principal: Principal): Promise<TrafficReply> {
    await store.read(em => requireReadable(rules, ruleId, principal, em))
    return query(asked, (window, em) => readRule(ruleId, window, em))
  }

  async function topOf({ by = 'rule', limit = defaultLimit, ...asked }: TopQuery, principal: Principal) {
    const spans = parseTopWindow(asked, nowSecs())
    await fold()
    return top(deps, { by, limit, spans }, principal)
  }

  return {
    ofUser,
    ofClient,
    ofRule,
    ofAll: asked => query(asked, (window, em) => readPair({}, window, em)),
    top: topOf
  }
}

/** Throws `rule_not_found` or `not_owner`. */
async function requireReadable(
  rules: Pick<Rules, 'find'>,
  ruleId: string,
  principal: Principal,
  em: EntityManager
): Promise<void> {
  try {
    await rules.find(ruleId, principal, em)
  } catch (error) {
    const isUnknown = error instanceof Fault && error.errorCode === ruleNotFound
    if (!isUnknown || !(await mayRead(ruleId, principal, em))) throw error
  }
}

function toReply({ bucket }: Window, samples: Sample[]): TrafficReply {
  const total = (column: 'bytes_in' | 'bytes_out') =>
    samples.reduce((sum, row) => Math.min(maxCount, sum + row[column]), 0)
  return { bucket, samples, total_bytes_in: total('bytes_in'), total_bytes_out: total('bytes_out') }
}
