import type { TSchema } from 'typebox'

/** Converts an exact number (decimal digits) or boolean (`true`, `false`). Returns any other text unchanged. */
export function exactValue(schema: TSchema | undefined, text: string): unknown {
  const type = schema === undefined ? undefined : Reflect.get(schema, 'type')
  if (type === 'integer')
    return /^(0|-?[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text
  if (type === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
  return type === 'boolean' && /^(true|false)$/.test(text) ? text === 'true' : text
}
