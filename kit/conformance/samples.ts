import { type TSchema, Type } from 'typebox'

/** A value from the schema itself, or the part of the schema that has none. */
export type Sample = { readonly value: unknown } | { readonly lacking: string }

type Known = Readonly<Record<string, unknown>>

/**
 * Returns a value of `examples`, a default, a constant or the first alternative. Optional properties are included only if they
 * have `examples`. Never invents a value. Properties in `known` have the value given there.
 */
export function sampleOf(schema: TSchema | undefined, at: string, known: Known = {}): Sample {
  if (schema === undefined) return { value: undefined }
  const given = givenIn(schema)
  if (given) return given
  if (Type.IsUnion(schema)) {
    const samples = schema.anyOf.map(one => sampleOf(one, at))
    return samples.find(sample => 'value' in sample) ?? { lacking: at }
  }
  return Type.IsObject(schema) ? objectOf(schema.properties, at, known) : { lacking: at }
}

function givenIn(schema: TSchema): Sample | null {
  const { examples, default: standard, const: constant } = schema as Readonly<Record<string, unknown>>
  if (Array.isArray(examples) && examples.length > 0) return { value: examples[0] as unknown }
  if (standard !== undefined) return { value: standard }
  return constant === undefined ? null : { value: constant }
}

function objectOf(properties: Readonly<Record<string, TSchema>>, at: string, known: Known): Sample {
  const value: Record<string, unknown> = {}
  for (const [key, property] of Object.entries(properties)) {
    if (key in known) value[key] = known[key]
    if (key in known) continue
    if (Type.IsOptional(property) && !('examples' in property)) continue
    const sample = sampleOf(property, `${at}/${key}`)
    if ('lacking' in sample) return sample
    value[key] = sample.value
  }
  return { value }
}
