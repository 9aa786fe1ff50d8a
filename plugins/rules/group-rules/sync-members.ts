import type { EntityManager } from '@mikro-orm/sql'
import { type AfterCommit, runAll } from '../delivery/rule-states.ts'
import { isGroupRule, noClient, RefusedMember, Rule } from '../entities.ts'
import type { Services } from '../services.ts'
import { syncGroupRule } from './group-rule.ts'

const rulesPerTransaction = 25 // other changes wait for it

/** All clients and group rules, or some of them. */
interface SyncScope {
  readonly clients?: readonly string[]
  readonly rules?: readonly string[]
  /** Group rules that these users own or placed. */
  readonly users?: readonly string[]
  /** Retries only members that could not be created; with `clients`, also those that their agent refused at create. */
  readonly onlyRefused?: true
}

/**
 * Creates a member of each group rule on each client that its field chooses now, and drains other members. A refused
 * member does not affect other clients.
 */
export type SyncMembers = (scope?: SyncScope) => Promise<void>

export const openMemberSync =
  (services: Services): SyncMembers =>
  async (scope = {}) => {
    const { store } = services
    const among = scope.clients ?? null
    const ids = await store.read(em => listGroupRules(scope, em))
    for (let at = 0; at < ids.length; at += rulesPerTransaction) {
      const some = ids.slice(at, at + rulesPerTransaction)
      const after = await store.change(async em => {
        const actions: AfterCommit[] = []
        const found = await em.find(Rule, { id: { $in: some }, state: { $ne: 'draining' } })
        const groupRules = found.filter(isGroupRule)
        const values = await services.fields.load(groupRules, em)
        const retriesFailed = scope.onlyRefused === true
        for (const rule of groupRules) {
          const options = { among, retriesFailed, values: values.get(rule.id) ?? {} }
          actions.push(await syncGroupRule(services, rule, options, em))
        }
        return actions
      })
      runAll(after)
    }
  }

async function listGroupRules(
  { clients, rules, users, onlyRefused }: SyncScope,
  em: EntityManager
): Promise<string[]> {
  if (rules) return [...rules]
  if (!onlyRefused) {
    const by = users ? { $or: [{ owner: { $in: [...users] } }, { placedBy: { $in: [...users] } }] } : {}
    const where = { clientId: noClient, ...by }
    const all = await em.find(Rule, where, { fields: ['id'], orderBy: { id: 'asc' } })
    return all.map(({ id }) => id)
  }
  const clientFilter = clients ? { clientId: { $in: [...clients] } } : {}
  const refused = await em.find(RefusedMember, clientFilter, { fields: ['parent'] })
  const failed = clients
    ? await em.find(Rule, { ...neverActive, ...clientFilter }, { fields: ['parent'] })
    : []
  return [...new Set([...refused, ...failed].flatMap(({ parent }) => parent ?? []))]
}

const neverActive = { parent: { $ne: null }, state: 'failed', activatedAt: null } as const
