import { addressForms } from '../../kernel/platform/address-forms.ts'
import { type Explainer, type ExplainStep, explainSlot } from '../rules/exports.ts'
import { SourceFilter } from './entities.ts'
import { allowSources, denySources } from './fields.ts'
import { listsNamed, packedBytes } from './lists.ts'
import { includes } from './packed-prefixes.ts'

/** Explains which lists contain the caller. The agent decides, but does not know the names of lists. */
export const explains = explainSlot.fill({
  async explain({ id, source }, em) {
    const row = await em.findOne(SourceFilter, { rule: id })
    if (!row || source === null) return []
    const steps: ExplainStep[] = []
    const forms = addressForms(source)
    const sides = [
      [allowSources.key, row.allow],
      [denySources.key, row.deny]
    ] as const
    for (const [key, entries] of sides)
      for (const [at, list] of await listsNamed(entries ?? [], em))
        if (forms.some(form => includes(packedBytes(list), form))) {
          const text = `${source} is in the list ${at}, which ${key} names`
          steps.push({ kind: 'source_list', id: list.name, verdict: 'info', reason: null, text })
        }
    return steps
  }
} satisfies Explainer)
