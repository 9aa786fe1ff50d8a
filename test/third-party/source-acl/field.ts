// The rule field `source_acl`, which may change while the rule runs.
import { defineCode, Fault, rules, type Static, Type } from 'sluice/plugin'
import { SourceAcl } from './entities.ts'
import { hasHostBits, parsePrefix } from './prefix.ts'
import { capability, key, Lists, maxEntries } from './wire.ts'

export const notAPrefix = defineCode('validation.source_acl', 400, 3)
export const missing = defineCode('validation.source_acl_missing', 400, 3)

const List = Type.Array(Type.String({ maxLength: 64 }), {
  maxItems: maxEntries,
  description: 'Addresses and prefixes: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32.'
})
const Body = Type.Object(
  { allow: Type.Optional(List), deny: Type.Optional(List) },
  {
    additionalProperties: false,
    examples: [{ allow: ['192.0.2.0/24'] }],
    description:
      'Source addresses that may use the rule. Deny takes precedence; without allow, all others may.'
  }
)

/** Returns the entries in their normal form, each once. */
function normalized(list: readonly string[], field: string): string[] {
  return [
    ...new Set(
      list.map((text, i) => {
        const prefix = parsePrefix(text)
        if (prefix === null)
          throw refusalOf(`${field}/${i}`, `${text} is neither an address nor a prefix like 192.0.2.0/24`)
        if (hasHostBits(prefix))
          throw refusalOf(
            `${field}/${i}`,
            `${text} is an address within its network; give the address alone, or the first address of the network`
          )
        return prefix
      })
    )
  ]
}

const refusalOf = (field: string, why: string): Fault =>
  new Fault(notAPrefix, `${field} ${why}`, { details: { field, reason: 'prefix' } })

export const field = rules.ruleField({
  key,
  change: 'hot',
  updateEmpty: missing,
  body: Body,
  requires: { capability, refusal: rules.fieldUnsupported },
  message: Lists,
  parse({ allow = [], deny = [] }: Static<typeof Body>) {
    const lists = { allow: normalized(allow, `/${key}/allow`), deny: normalized(deny, `/${key}/deny`) }
    return lists.allow.length + lists.deny.length === 0 ? null : lists
  },
  async check() {},
  async save(rule, { allow = [], deny = [] }, em) {
    await em.upsert(SourceAcl, { rule, allow, deny })
  },
  async clear(rule, em) {
    await em.nativeDelete(SourceAcl, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(SourceAcl, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, allow, deny }) => [rule, { allow: [...allow], deny: [...deny] }]))
  },
  encode: ({ allow = [], deny = [] }) => ({ allow, deny })
})
