// The rules that a grant can cover, and those that lose their last grant with it.
import type { EntityManager, FilterQuery } from '@mikro-orm/sql'
import type { RuleCore, Rules } from '../rules/exports.ts'
import { covers, coversExit, pathClients } from './coverage.ts'
import type { Grant } from './entities.ts'

type Refreshed = Parameters<Rules['refresh']>[0]
type StoredRule = Awaited<ReturnType<Rules['matching']>>[number]

/** An exempt rule needs no grant. Each member of a group rule is checked on its client. */
const boundRules = ({ userId, protocols }: Grant) => ({
  owner: userId,
  isExempt: false,
  clientId: { $ne: '' },
  protocol: { $in: [...protocols] }
})

/** Returns a condition for the rules that the grant can cover. */
export async function coverableRules(grant: Grant, rules: Rules, em: EntityManager): Promise<Refreshed> {
  const { use, clientId, portFrom, portTo } = grant
  if (use === 'exit') return { id: { $in: (await rulesThrough(grant, rules, em)).map(({ id }) => id) } }
  return {
    ...boundRules(grant),
    ...(clientId != null && { clientId }),
    listenFrom: { $gte: portFrom },
    listenTo: { $lte: portTo }
  } satisfies FilterQuery<RuleCore>
}

/** Returns the ids of the rules that the grant covers and that none of the others does. */
export async function uncoveredWithout(
  grant: Grant,
  others: readonly Grant[],
  rules: Rules,
  em: EntityManager
): Promise<string[]> {
  const isLost = (rule: StoredRule): boolean =>
    grant.use === 'listen'
      ? !others.some(other => covers(other, rule))
      : clientsThrough(rule).some(
          id => coversExit(grant, rule, id) && !others.some(other => coversExit(other, rule, id))
        )
  const found =
    grant.use === 'listen'
      ? await rules.matching(await coverableRules(grant, rules, em), em)
      : await rulesThrough(grant, rules, em)
  return found.filter(isLost).map(({ id }) => id)
}

/** Returns the rules that lead through a client of the exit grant. */
async function rulesThrough(grant: Grant, rules: Rules, em: EntityManager): Promise<StoredRule[]> {
  const where = { ...boundRules(grant), ...(grant.entries && { clientId: { $in: [...grant.entries] } }) }
  const found = await rules.matching(where, em)
  return found.filter(rule => clientsThrough(rule).some(id => coversExit(grant, rule, id)))
}

/** Returns the clients of all paths of the rule. While a change is pending, the earlier paths are in force. */
const clientsThrough = (rule: StoredRule): string[] => [
  ...pathClients(rule),
  ...(rule.before ? pathClients(rule.before.rule) : [])
]
