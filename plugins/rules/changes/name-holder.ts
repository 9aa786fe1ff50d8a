import type { RuleCore } from '../fields/rule-field.ts'

/** The rule that keeps another one from a port, as a fault names it. */
interface NamedHolder {
  readonly name: string // the subject of a sentence
  readonly details: { readonly rule_id?: string }
}

/** Names the holder of a port. Its owner and those who manage all rules learn its id. A member has that of its group rule. */
export function nameHolder(
  rule: Pick<RuleCore, 'owner' | 'isExempt'>,
  holder: Pick<RuleCore, 'id' | 'parent' | 'owner' | 'name'>
): NamedHolder {
  if (rule.owner !== holder.owner && !rule.isExempt) return { name: 'a rule of another owner', details: {} }
  const id = holder.parent ?? holder.id
  const name = holder.name == null ? `rule ${id}` : `rule ${holder.name} (${id})`
  return { name, details: { rule_id: id } }
}
