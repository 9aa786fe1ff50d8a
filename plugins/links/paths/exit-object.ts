// The parts of a rule at the clients of its paths. A part has the targets that lead through its client; only the client that
// dials a target learns its host.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode } from '../../../kernel/base/errors.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { rowBatches } from '../../../kernel/store/sql/row-batches.ts'
import { type DerivedPart, type DerivingRule, derivedObject, type Rules } from '../../rules/exports.ts'
import { via } from '../fields.ts'
import { type ExitPart, exitObject } from '../wire.ts'
import { targetKey } from './target-key.ts'

export interface Deps extends Kernel {
  readonly rules: Pick<Rules, 'derivedKind' | 'exitTargets' | 'idsThrough'>
}

export const exitInUse = defineCode('exit_in_use', 409, 5)
const journalKind = 'link'
export const pathPending = 'path_pending'

type Target = DerivingRule['targets'][number]
type Hop = ExitPart['targets'][number]

export const exitParts = derivedObject<typeof exitObject.body, Deps>({
  ...exitObject,
  field: via.key,
  pendingReason: pathPending,
  journalKind,
  inUse: {
    code: exitInUse,
    rules: (clientId, take, em, { deps: { rules } }) => rules.idsThrough(clientId, take, em)
  },
  async derive(rules, em, { deps }) {
    const led = rules.map(withEarlierTargets).filter(({ targets }) => targets.length > 0)
    if (led.length === 0) return new Map()
    const names = await namesOf(led, em)
    const limits = await deps.rules.exitTargets(led, em)
    return new Map(
      led.map(rule => [
        rule.id,
        [...hopsOf(rule)].map(([clientId, targets]): DerivedPart<ExitPart> => {
          const matches = targets.some(({ next }) => next === undefined)
            ? limits.get(rule.id)?.get(clientId)
            : undefined
          const allow = matches && { allow: { matches: [...matches] } }
          return { clientId, body: { ...commonPart(rule, names), targets, ...allow } }
        })
      ])
    )
  }
})

/** Returns the rule with the targets that have a path, and with those that are in force until its change is. */
function withEarlierTargets(rule: DerivingRule): DerivingRule {
  const all = [...rule.targets, ...(rule.inForce?.targets ?? [])].filter(({ path }) => path !== undefined)
  const byKey = new Map<number, Target>(all.map(target => [targetKey(target), target]))
  return { ...rule, targets: [...byKey.values()] }
}

function commonPart(rule: DerivingRule, names: ReadonlyMap<string, string>) {
  const { clientId, owner, listenFrom, listenTo, inForce, preferIpv6 } = rule
  const { from, to } = inForce ?? { from: listenFrom, to: listenTo }
  return {
    entry_id: clientId,
    entry_name: names.get(clientId) ?? '',
    owner,
    ports: Math.max(listenTo - listenFrom, to - from) + 1,
    prefer_ipv6: preferIpv6
  }
}

/** Returns what each client of the paths does for the targets, by client id. */
function hopsOf({ clientId: entryId, targets }: DerivingRule): Map<string, Hop[]> {
  const hops = new Map<string, Hop[]>()
  for (const target of targets) {
    const { host, port, path = [] } = target
    for (const [at, clientId] of path.entries()) {
      const place = { key: targetKey(target), previous: path[at - 1] ?? entryId }
      const next = path[at + 1]
      const hop = next === undefined ? { ...place, host, port } : { ...place, next }
      hops.set(clientId, [...(hops.get(clientId) ?? []), hop])
    }
  }
  return hops
}

/** Returns the names of the rules' clients, by id. */
async function namesOf(rules: readonly DerivingRule[], em: EntityManager): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for (const ids of rowBatches([...new Set(rules.map(({ clientId }) => clientId))]))
    for (const { id, name } of await em.find(Client, { id: { $in: [...ids] } }, { fields: ['name'] }))
      names.set(id, name)
  return names
}
