// The properties that plugins add to targets, as the server's API describes them.
import { resolveSchema, type Schema, type Schemas } from '../../../parts/schema-form/schema.ts'

const own = ['host', 'port', 'priority', 'weight', 'via']

/** Returns the schemas by key; none without the schemas of the server. */
export function targetPropertiesIn(schemas: Schemas | null): Readonly<Record<string, Schema>> {
  if (schemas === null) return {}
  const { items = {} } = resolveSchema(schemas['RuleCreate']?.properties?.['targets'] ?? {}, schemas)
  const { properties = {} } = resolveSchema(items, schemas)
  return Object.fromEntries(Object.entries(properties).filter(([key]) => !own.includes(key)))
}
