import { Facts } from '../../../parts/Facts.tsx'
import { titleOf } from '../../../parts/schema-form/schema.ts'
import { useSchemas } from '../../../parts/schema-form/use-schemas.ts'
import { Timestamp } from '../../../parts/Timestamp.tsx'
import { text } from '../../../text/text.ts'
import { dependsOn, groupIntoSections, ownControls } from '../form/sections.ts'
import type { Rule } from '../queries.ts'
import { formatValue } from './format-value.ts'

/** All fields of the rule that have a value, including those of plugins. */
export function RuleFacts({ rule }: { readonly rule: Rule }) {
  const { data: schemas } = useSchemas()
  const { properties = {} } = schemas?.['RuleCreate'] ?? {}
  const values: Readonly<Record<string, unknown>> = { ...rule }
  const keys = groupIntoSections(Object.keys(properties))
    .flatMap(({ keys }) => keys)
    .filter(key => !shownElsewhere.has(key) && hasValue(values[key]))
    .filter(key => dependsOn[key]?.some(other => hasValue(values[other])) ?? true)
  return (
    <Facts
      facts={[
        rule.client_id !== null && {
          name: text.rules.client,
          value: rule.client_name,
          to: `/clients/${rule.client_id}`
        },
        { name: text.rules.owner, value: rule.owner, to: `/rules?owner=${encodeURIComponent(rule.owner)}` },
        { name: text.rules.created, value: <Timestamp at={rule.created_at} /> },
        { name: text.ruleDetail.since, value: <Timestamp at={rule.state_changed_at} format="ago" /> },
        ...keys.map(key => ({
          name: text.fields[key] ?? titleOf(key, properties[key] ?? {}),
          value:
            key.endsWith('_at') || key === 'not_before' ? (
              <Timestamp at={String(values[key])} />
            ) : (
              formatValue(values[key], key)
            )
        }))
      ]}
    />
  )
}

const shownElsewhere: ReadonlySet<string> = new Set([...ownControls, 'name', 'owner', 'placed_by', 'paused'])

const hasValue = (value: unknown): boolean =>
  value !== null &&
  value !== undefined &&
  value !== false &&
  !(typeof value === 'object' && Object.keys(value).length === 0)
