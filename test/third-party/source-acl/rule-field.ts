// The server half of the field, which can change while the rule runs.
import { defineCode, Fault, rules } from 'sluice/plugin'
import { field } from './field.ts'
import { hasHostBits, parsePrefix } from './prefix.ts'

export const notAPrefix = defineCode('validation.source_acl', 400, 3)
export const missing = defineCode('validation.source_acl_missing', 400, 3)

/** Returns the entries in normal form, without duplicates. */
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
            `${text} has host bits; give the address alone, or the first address of the network`
          )
        return prefix
      })
    )
  ]
}

const refusalOf = (field: string, why: string): Fault =>
  new Fault(notAPrefix, `${field} ${why}`, { details: { field, reason: 'prefix' } })

export const sourceAcl = rules.ruleField({
  ...field,
  change: 'hot',
  updateEmpty: missing,
  parse({ allow, deny }) {
    const lists = {
      allow: normalized(allow, `/${field.key}/allow`),
      deny: normalized(deny, `/${field.key}/deny`)
    }
    return lists.allow.length + lists.deny.length === 0 ? null : lists
  }
})
