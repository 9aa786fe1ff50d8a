// Clients come and go, and with them the parts of wholes: whoever places a rule says when.
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type AfterCommit, runAll } from '../delivery/rule-states.ts'
import { isGroupRule, noClient, RefusedMember, Rule } from '../entities.ts'
import type { Services } from '../services.ts'
import { settleWhole } from './group-rule.ts'

const wholesAtOnce = 25 // of one transaction: other changes wait for it

export interface SyncScope {
  /** Of all clients, or of these. */
  readonly clients?: readonly string[]
  /** Of all rules, or of these. */
  readonly rules?: readonly string[]
  /** Only what a client could not have is tried again; with `clients` also what they refused when it was new. */
  readonly onlyRefused?: true
}

/**
 * Gives its part of each rule on several clients to each of the clients that is to have it now, and takes it from others
 * with drain. A client that cannot have its part, or had none until now, never keeps others from theirs.
 */
export const openMemberSync =
  (services: Services & Pick<Kernel, 'store'>) =>
  async (settled: SyncScope = {}): Promise<void> => {
    const { store } = services
    const among = settled.clients ?? null
    const ids = await store.read(em => wholesOf(settled, em))
    for (let at = 0; at < ids.length; at += wholesAtOnce) {
      const some = ids.slice(at, at + wholesAtOnce)
      const after = await store.change(async em => {
        const actions: AfterCommit[] = []
        const found = await em.find(Rule, { id: { $in: some }, state: { $ne: 'draining' } })
        const wholes = found.filter(isGroupRule)
        const values = await services.fields.load(wholes, em)
        const retries = settled.onlyRefused === true
        for (const whole of wholes) {
          const how = { among, retries, values: values.get(whole.id) ?? {} }
          actions.push(await settleWhole(services, whole, how, em))
        }
        return actions
      })
      runAll(after)
    }
  }

async function wholesOf({ clients, rules, onlyRefused }: SyncScope, em: EntityManager): Promise<string[]> {
  if (rules) return [...rules]
  if (!onlyRefused) {
    const wholes = await em.find(Rule, { clientId: noClient }, { fields: ['id'], orderBy: { id: 'asc' } })
    return wholes.map(({ id }) => id)
  }
  const ofClients = clients ? { clientId: { $in: [...clients] } } : {}
  const refused = await em.find(RefusedMember, ofClients, { fields: ['parent'] })
  const failed = clients ? await em.find(Rule, { ...neverActive, ...ofClients }, { fields: ['parent'] }) : []
  return [...new Set([...refused, ...failed].flatMap(({ parent }) => parent ?? []))]
}

const neverActive = { parent: { $ne: null }, state: 'failed', activatedAt: null } as const
