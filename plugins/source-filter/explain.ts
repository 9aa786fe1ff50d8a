import { type Explainer, type ExplainStep, explainSlot } from '../rules/exports.ts'
import { SourceFilter } from './entities.ts'
import { bytesOf, listsNamed } from './lists.ts'
import { includes } from './source-filter.ts'
import { keys } from './wire.ts'

/** Tells which lists have the caller. Agents, who decide, do not know the names of lists. */
export const explains = explainSlot.fill({
  async explain({ id, source }, em) {
    const row = await em.findOne(SourceFilter, { rule: id })
    if (!row || source === null) return []
    const steps: ExplainStep[] = []
    for (const [key, entries] of [[keys.allow, row.allow] as const, [keys.deny, row.deny] as const])
      for (const [at, list] of await listsNamed(entries ?? [], em))
        if (includes(bytesOf(list), source)) {
          const text = `${source} is in the list ${at}, which ${key} names`
          steps.push({ kind: 'source_list', id: list.name, verdict: 'info', reason: null, text })
        }
    return steps
  }
} satisfies Explainer)
