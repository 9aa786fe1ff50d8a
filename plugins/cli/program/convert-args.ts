import type { TObject } from 'typebox'
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { exactValue } from '../../../kernel/platform/exact-value.ts'
import { parseQuantity, quantityHelp, type Unit } from '../../http/command-exports.ts'

type Args = Readonly<Record<string, unknown>>

/** Converts and validates arguments by the command's schema. Omits options that are not in the schema. */
export function convertArgs(args: TObject, given: Args): Args {
  const own = Object.fromEntries(
    Object.keys(args.properties)
      .filter(key => given[key] !== undefined)
      .map(key => [key, convert(args.properties[key], given[key])])
  )
  for (const [key, value] of Object.entries(own)) {
    const problem = problemOf(args.properties[key] ?? {}, value)
    if (problem !== null) throw new Fault(wrongUsage, `${key.toUpperCase()} ${problem}`)
  }
  return own
}

const convert = (schema: Schema | undefined, given: unknown): unknown => {
  if (Array.isArray(given)) return given.map(item => convert(schema?.items, item))
  if (typeof given !== 'string') return given
  const choice = schema?.anyOf?.find(branch => branch.const === given.toLowerCase())
  if (choice) return choice.const // 'TCP' is tcp
  return (schema?.unit && parseQuantity(given, schema.unit)) || exactValue(schema, given)
}

/** The JSON Schema keywords that arguments are validated by. */
export interface Schema {
  readonly type?: string
  readonly unit?: Unit // '500M' is a value, too
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
}

/** Returns the values of an enum or a union of literals; none for other schemas. */
export const choicesIn = (schema: Schema): readonly unknown[] =>
  schema.enum ?? (schema.anyOf ?? [schema]).flatMap(branch => ('const' in branch ? [branch.const] : []))

/** Returns why the value is invalid, such as 'must be >= 1', or null. */
function problemOf(schema: Schema, value: unknown): string | null {
  const choices = choicesIn(schema)
  if (choices.length > 0) return choices.includes(value) ? null : `must be one of ${choices.join(', ')}`
  if (schema.anyOf) {
    const problems = schema.anyOf.map(branch => problemOf(branch, value))
    return problems.includes(null) ? null : (problems[0] ?? null)
  }
  if (schema.type !== undefined && !isOfType(schema.type, value))
    return `must be ${/^[aeio]/.test(schema.type) ? 'an' : 'a'} ${schema.type}${schema.unit ? `, with or without a unit: ${quantityHelp(schema.unit)}` : ''}`
  if (Array.isArray(value)) {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items = {} } = schema
    if (value.length < minItems) return `must not have fewer than ${minItems} items`
    if (value.length > maxItems) return `must not have more than ${maxItems} items`
    return value.map(item => problemOf(items, item)).find(problem => problem !== null) ?? null
  }
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema
  if (typeof value === 'number' && value < minimum) return `must be >= ${minimum}`
  return typeof value === 'number' && value > maximum ? `must be <= ${maximum}` : null
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value)
  return type === 'integer' ? Number.isSafeInteger(value) : typeof value === type
}
