// The settings of plugins, for administrators. Any string in the settings of an external plugin may be a secret, so only
// strings that its schema lists are shown.
import type { TObject, TSchema } from 'typebox'
import type { Mounted } from '../http/exports.ts'

export interface Setting {
  readonly key: string // as in the configuration: 'plugins.acme.idle_secs', 'journal_days'
  readonly description: string
  readonly value: unknown // null: not set or hidden
  readonly hidden: boolean
  readonly is_default: boolean
}

export function listSettings(
  { plugin, config }: Mounted,
  origin: 'built in' | 'external'
): readonly Setting[] {
  const shown = (prefix: string, { properties = {} }: Partial<TObject>): Setting[] =>
    Object.entries(properties).map(([name, schema]) => toSetting(prefix + name, schema, config[name], origin))
  return [...shown('', plugin.keys ?? {}), ...shown(`plugins.${plugin.name}.`, plugin.config ?? {})]
}

function toSetting(key: string, schema: TSchema, value: unknown, origin: string): Setting {
  const { description = '', default: fallback } = schema as { description?: string; default?: unknown }
  const isDefault = value === undefined || JSON.stringify(value) === JSON.stringify(fallback)
  const hidden = origin === 'external' && !isDefault && hasFreeText(schema, value)
  return { key, description, value: hidden ? null : (value ?? null), hidden, is_default: isDefault }
}

/** Returns whether the value contains a string that the schema does not list. */
function hasFreeText(schema: TSchema, value: unknown): boolean {
  if (typeof value === 'string') return !listedValues(schema).includes(value)
  return typeof value === 'object' && value !== null
}

const listedValues = (schema: TSchema): readonly unknown[] => {
  const { const: one, enum: some = [], anyOf = [] } = schema as Listed
  return [one, ...some, ...anyOf.map(({ const: literal }) => literal)]
}

interface Listed {
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly { readonly const?: unknown }[]
}
