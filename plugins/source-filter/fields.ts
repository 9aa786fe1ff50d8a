// The rule fields allow_sources and deny_sources. A change ends what is no longer allowed.
import type { EntityManager } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { limitReached } from '../../kernel/base/errors.ts'
import { fieldUnsupported, ruleField } from '../rules/exports.ts'
import { SourceFilter } from './entities.ts'
import { entriesOf, invalidSources, isListName, refusalOf } from './entries.ts'
import { listsNamed, requireRoom } from './lists.ts'
import { capability, keys, maxEntries, Prefixes } from './wire.ts'

export { invalidSources }

const fieldOf = (side: 'allow' | 'deny', description: string) =>
  ruleField({
    key: keys[side],
    change: 'frozen',
    body: Type.Unsafe<readonly string[]>(
      Type.Array(Type.String({ maxLength: 64 }), {
        ...{ maxItems: maxEntries, code: invalidSources.code, description },
        examples: [side === 'allow' ? ['192.0.2.0/24', '2001:db8::/32'] : ['198.51.100.7']]
      })
    ),
    requires: { capability, refusal: fieldUnsupported },
    message: Prefixes,
    errors: [invalidSources, limitReached],
    parse(given) {
      const entries = entriesOf(given, `/${keys[side]}`, 'lists')
      return entries.length === 0 ? null : entries
    },
    async check(entries, { id }, em) {
      const named = await listsNamed(entries, em)
      const unknown = entries.findIndex(entry => isListName(entry) && !named.has(entry))
      if (unknown >= 0)
        throw refusalOf(`/${keys[side]}/${unknown}`, 'list', `there is no list ${entries[unknown]?.slice(1)}`)
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
    async load(ids, em: EntityManager) {
      const rows = await em.find(SourceFilter, { rule: { $in: [...ids] } })
      return new Map(rows.flatMap(row => (row[side] == null ? [] : [[row.rule, row[side]] as const])))
    },
    encode: entries => ({ prefixes: entries.filter(entry => !isListName(entry)) })
  })

const what = 'Addresses, prefixes, and lists such as @office, at most 256.'

export const fields = [
  fieldOf('allow', `Sources that may use the rule, and no others. ${what}`),
  fieldOf('deny', `Sources that may not use the rule, even where allow_sources has them. ${what}`)
]
