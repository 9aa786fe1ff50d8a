// Tells operators and owners when a new or changed rule closes a circle.
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { JournalEntry, Rules } from '../rules/exports.ts'
import { findCircle, type ListeningRule } from './circle.ts'
import { findActive, findActiveMembers, storedGraph } from './stored-graph.ts'

export interface Services extends Kernel {
  readonly rules: Pick<Rules, 'addJournalEntry' | 'loadNames'>
}

const wayFields = new Set<unknown>([
  'listen_port',
  'listen_port_end',
  'targets',
  'sni_pattern',
  'sni_fallback'
])

/** True for entries of changes that may close a circle: a rule begins to listen, or goes another way. */
const isNewWay = ({ kind, to, cause, details = {} }: JournalEntry): boolean =>
  kind === 'state' ? to === 'active' : cause !== null && wayFields.has(details['field'])

/** Returns a listener of journal entries, which runs in the transaction of the change. */
export function openLoopWatch({ log, rules }: Services) {
  const judged = new WeakMap<EntityManager, Set<string>>() // rules, by transaction: a change has an entry for each field

  async function report(
    rule: ListeningRule,
    circle: readonly ListeningRule[],
    em: EntityManager
  ): Promise<void> {
    const ids = circle.map(({ id }) => id)
    const { id, shownId, clientId, owner } = rule
    const to = circle.map(hop => (hop.owner === owner ? hop.shownId : null))
    await rules.addJournalEntry({ about: { rule: shownId }, kind: 'loop', from: null, to, cause: 'loop' }, em)
    const name = (await rules.loadNames([shownId], em)).get(shownId)
    afterCommit(em, () =>
      log.warn('rule.loop', 'rules may forward to each other in a circle', {
        rule: id,
        rule_name: name,
        client: clientId,
        rules: ids
      })
    )
  }

  return async (entry: JournalEntry, em: EntityManager): Promise<void> => {
    const { about, details = {} } = entry
    if (!('rule' in about) || !isNewWay(entry)) return
    const done = judged.get(em) ?? new Set()
    judged.set(em, done)
    const client = details['client_id']
    const key = `${about.rule} ${client}`
    if (done.has(key)) return
    done.add(key)
    const own = await findActive(about.rule, em)
    const changed = own
      ? [own]
      : await findActiveMembers(about.rule, typeof client === 'string' ? client : null, em)
    for (const rule of changed) {
      const circle = await findCircle(rule, storedGraph(em))
      if (circle) return report(rule, circle, em)
    }
  }
}
