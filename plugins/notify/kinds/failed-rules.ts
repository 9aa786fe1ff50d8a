// The kind `rule_failed`. The transaction that stores an agent's results only notes which rules failed or recovered; a later
// one names and reports them together.
import type { EntityManager } from '@mikro-orm/sql'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Rules, StateChange } from '../../rules/exports.ts'
import { NotifyRule } from '../entities.ts'
import type { OwnKind } from '../kind-registry.ts'
import { countOf } from '../kind-registry.ts'
import { fine, type Objects } from '../objects.ts'

const kind = 'rule_failed'
const rulesPerChange = 50 // each takes some statements, and other changes wait meanwhile

export const failedRuleKind: OwnKind = {
  kind,
  isUrgent: true,
  summarize: count => countOf(count, 'rule has failed', 'rules have failed')
}

export interface FailedRules {
  changed(change: StateChange, em: EntityManager): Promise<void>
  removed(rule: { readonly id: string }, em: EntityManager): Promise<void>
  /** Reports the changes that were noted. Call it on one server. */
  look(): Promise<void>
}

interface Deps extends Pick<Kernel, 'store'> {
  readonly objects: Objects
  readonly rules: Pick<Rules, 'loadScopes'>
}

export function openFailedRules({ store, objects, rules }: Deps): FailedRules {
  async function reportNoted(em: EntityManager): Promise<boolean> {
    const noted = await em.find(NotifyRule, {}, { orderBy: { rule: 'asc' }, limit: rulesPerChange })
    const ids = noted.map(({ rule }) => rule)
    const names = await namesOf(ids, rules, em)
    for (const { rule, owner, failure = null, isFailed } of noted) {
      const about = { subject: kind, object: rule, owner, name: names.get(rule) ?? rule }
      const name = failure ? `${about.name} (${failure})` : about.name
      if (failure !== null) await objects.observe({ ...about, name, state: 'failed', kind }, em)
      if (!isFailed) await objects.observe({ ...about, state: fine, kind: null }, em)
    }
    await em.nativeDelete(NotifyRule, { rule: { $in: ids } })
    return noted.length === rulesPerChange
  }

  return {
    async changed({ id: rule, owner, from, state, reason }, em) {
      if (state === 'failed') {
        const row = { rule, owner, failure: reason ?? '', isFailed: true }
        await em.upsert(NotifyRule, row)
      } else if (from === 'failed') {
        const row = { rule, owner, failure: null, isFailed: false }
        await em.upsert(NotifyRule, row, { onConflictMergeFields: ['isFailed'] }) // a failure since the last report stays
      }
    },
    async removed({ id }, em) {
      await em.nativeDelete(NotifyRule, { rule: id })
      await objects.forget(kind, id, em)
    },
    async look() {
      let isMore = await store.read(async em => (await em.findOne(NotifyRule, {})) !== null)
      while (isMore) isMore = await store.change(reportNoted)
    }
  }
}

/** Returns names such as 'port 443 on paris' or 'web on paris', by rule. */
async function namesOf(
  ids: readonly string[],
  rules: Pick<Rules, 'loadScopes'>,
  em: EntityManager
): Promise<ReadonlyMap<string, string>> {
  const scopes = await rules.loadScopes(ids, em)
  const clientIds = [...new Set([...scopes.values()].map(({ clientId }) => clientId))]
  const clients = await em.find(Client, { id: { $in: clientIds } }, { fields: ['id', 'name'] })
  const clientNames = new Map(clients.map(({ id, name }) => [id, name]))
  return new Map(
    [...scopes].map(([id, { name, listenFrom, listenTo, clientId }]) => {
      const ports = listenFrom === listenTo ? `port ${listenFrom}` : `ports ${listenFrom}-${listenTo}`
      const client = clientNames.get(clientId) // a group rule is on several
      return [id, client === undefined ? (name ?? ports) : `${name ?? ports} on ${client}`]
    })
  )
}
