import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { Fact, Facts } from '../../../parts/Facts.tsx'
import { titleOf } from '../../../parts/schema-form/schema.ts'
import { useSchemas } from '../../../parts/schema-form/use-schemas.ts'
import { When } from '../../../parts/Timestamp.tsx'
import { text } from '../../../text/text.ts'
import { handMade, meansWith, sectionsOf } from '../form/sections.ts'
import type { Rule } from '../queries.ts'
import { inWords } from './format-value.ts'

/** What the rule is: every field that has a value, those of plugins too. */
export function RuleFacts({ rule }: { readonly rule: Rule }) {
  const { data: schemas } = useSchemas()
  const { properties = {} } = schemas?.['RuleCreate'] ?? {}
  const values: Readonly<Record<string, unknown>> = { ...rule }
  const keys = sectionsOf(Object.keys(properties))
    .flatMap(({ keys }) => keys)
    .filter(key => !shownElsewhere.has(key) && isTold(values[key]))
    .filter(key => meansWith[key]?.some(other => isTold(values[other])) ?? true)
  return (
    <Facts>
      {rule.client_id !== null && (
        <Fact name={text.rules.edge}>
          <Anchor component={Link} href={`/edges/${rule.client_id}`}>
            {rule.client_name}
          </Anchor>
        </Fact>
      )}
      <Fact name={text.rules.owner}>
        <Anchor component={Link} href={`/rules?owner=${encodeURIComponent(rule.owner)}`}>
          {rule.owner}
        </Anchor>
      </Fact>
      <Fact name={text.rules.created}>
        <When at={rule.created_at} />
      </Fact>
      <Fact name={text.ruleDetail.since}>
        <When at={rule.state_changed_at} form="ago" />
      </Fact>
      {keys.map(key => (
        <Fact key={key} name={text.fields[key] ?? titleOf(key, properties[key] ?? {})}>
          {key.endsWith('_at') || key === 'not_before' ? (
            <When at={String(values[key])} />
          ) : (
            inWords(values[key], key)
          )}
        </Fact>
      ))}
    </Facts>
  )
}

const shownElsewhere: ReadonlySet<string> = new Set([...handMade, 'owner', 'placed_by', 'paused'])

const isTold = (value: unknown): boolean =>
  value !== null &&
  value !== undefined &&
  value !== false &&
  !(typeof value === 'object' && Object.keys(value).length === 0)
