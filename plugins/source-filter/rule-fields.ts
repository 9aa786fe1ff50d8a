// The server half of the fields. A change ends connections of sources that are no longer allowed.
import { limitReached } from '../../kernel/base/errors.ts'
import { ruleField } from '../rules/exports.ts'
import { SourceFilter } from './entities.ts'
import { invalidEntry, isListName, normalizeEntries } from './entries.ts'
import { allowSources, denySources, invalidSources } from './fields.ts'
import { listsNamed, requireRoom } from './lists.ts'

/** An empty allowlist can mean nobody, but was often meant for entries that a script did not find. */
const emptyAllowlist =
  'must not be empty; omit it or give null to let everybody in, or pause the rule to let nobody in'

/** Both fields share one table, which also serves to find the rules that name a list. */
const fieldFor = (side: 'allow' | 'deny', field: typeof allowSources | typeof denySources) =>
  ruleField<typeof allowSources.body, typeof allowSources.sent>({
    ...field,
    change: 'frozen',
    errors: [invalidSources, limitReached],
    parse(given) {
      const entries = normalizeEntries(given, `/${field.key}`, 'lists')
      if (entries.length > 0) return entries
      if (side === 'allow') throw invalidEntry('/allow_sources', 'minItems', emptyAllowlist)
      return null
    },
    async check(entries, { id }, em) {
      const named = await listsNamed(entries, em)
      const unknown = entries.findIndex(entry => isListName(entry) && !named.has(entry))
      if (unknown >= 0)
        throw invalidEntry(
          `/${field.key}/${unknown}`,
          'list',
          `there is no list ${entries[unknown]?.slice(1)}`
        )
      const row = await em.findOne(SourceFilter, { rule: id })
      const other = (side === 'allow' ? row?.deny : row?.allow) ?? []
      await requireRoom([...entries, ...other], em)
    },
    async save(rule, entries, em) {
      await em.upsert(SourceFilter, { rule, [side]: entries } as never)
    },
    async clear(rule, em) {
      await em.upsert(SourceFilter, { rule, [side]: null } as never)
    },
    async load(ids, em) {
      const rows = await em.find(SourceFilter, { rule: { $in: [...ids] } })
      return new Map(rows.flatMap(row => (row[side] == null ? [] : [[row.rule, [...row[side]]] as const])))
    },
    encode: entries => ({ prefixes: entries.filter(entry => !isListName(entry)) })
  })

export const ruleFields = [fieldFor('allow', allowSources), fieldFor('deny', denySources)]
