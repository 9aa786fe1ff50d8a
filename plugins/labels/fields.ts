// Labels as fields of records and rules, and the selector as a filter of lists.
import { Type } from 'typebox'
import type { Kernel } from '../../kernel/plugin.ts'
import type { GivenField, ListFilter, RecordField } from '../http/exports.ts'
import { ruleField } from '../rules/exports.ts'
import type { Kind } from './entities.ts'
import * as labelStore from './label-store.ts'
import { invalidLabels, key, type Labels, mergeLabels, parseLabels, patch, schema, shown } from './labels.ts'
import { invalidSelector, maxLength, parameter, parseSelector, type Term } from './selector.ts'

/** Labels given to an enrollment, for the client that it will create. */
export const enrollmentLabels: GivenField = {
  key,
  shown,
  given: schema,
  absent: {},
  errors: [invalidLabels],
  parse: (given, before) => (before === null ? parseLabels(given) : mergeLabels(given, before as Labels))
}

export const recordLabels =
  (kind: Kind) =>
  (deps: Kernel): RecordField => ({
    ...enrollmentLabels,
    patch,
    load: (ids, em) => labelStore.load(kind, ids, em),
    save: (id, labels, em) => labelStore.save(kind, id, { labels: labels as Labels, clock: deps.clock, em }),
    remove: (ids, em) => labelStore.remove(kind, ids, em)
  })

/** Labels of a rule: a server field, so a change sends nothing to agents. */
export const ruleLabels = ruleField({
  key,
  change: 'hot',
  body: schema,
  absent: {},
  unlessGiven: 'stays',
  errors: [invalidLabels],
  parse(given) {
    const labels = parseLabels(given)
    return Object.keys(labels).length === 0 ? null : labels
  },
  async check() {},
  save: (id, labels, em, { deps: { clock } }) => labelStore.save('rule', id, { labels, clock, em }),
  clear: (id, em) => labelStore.remove('rule', [id], em),
  load: (ids, em) => labelStore.load('rule', ids, em)
})

export const selectorFilter = (kind: Kind): ListFilter => ({
  parameter,
  schema: Type.String({
    maxLength,
    code: invalidSelector.code,
    description:
      'Label selector in the syntax of Kubernetes: env=prod,tier!=db,!old,zone in (a,b). `!=` and `notin` also match rows without the label.',
    examples: ['env=prod,tier!=db']
  }),
  errors: [invalidSelector],
  condition(given) {
    const parts = parseSelector(String(given)).map(term => conditionOf(kind, term))
    return {
      sql: id => parts.map(({ operator, sql }) => `${id} ${operator} (${sql})`).join(' and '),
      params: parts.flatMap(({ params }) => params)
    }
  }
})

function conditionOf(kind: Kind, { key, isNegated, values }: Term) {
  const selectByKey = 'select record_id from labels where kind = ? and key = ?'
  return {
    operator: isNegated ? 'not in' : 'in',
    sql: values === null ? selectByKey : `${selectByKey} and value in (${values.map(() => '?').join(', ')})`,
    params: [kind, key, ...(values ?? [])]
  }
}
