// Labels with the syntax of Kubernetes: keys and values that operators choose.
import { type TSchema, type TSchemaOptions, Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'

export const invalidLabels = defineCode('validation.labels', 400, 3)

export type Labels = Readonly<Record<string, string>>

export const key = 'labels'
const maxLabels = 32

const name = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/
const prefix = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

const keyRule = 'a name of 1 to 63 letters, digits, -, _ and ., optionally after a DNS name and /'
const valueRule = 'empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit'

/** Returns the problem with a label key, or null. */
export function keyProblem(text: string): string | null {
  const [last = '', first, ...more] = text.split('/').reverse()
  const isKey = more.length === 0 && name.test(last) && (first === undefined || prefix.test(first))
  return isKey ? null : `a key is ${keyRule}`
}

/** Returns the problem with a label value, or null. */
export const valueProblem = (text: string): string | null =>
  text === '' || name.test(text) ? null : `a value is ${valueRule}`

const described = {
  code: invalidLabels.code,
  examples: [{ env: 'prod', 'example.com/tier': 'db' }]
}

const objectOf = (value: TSchema, options: TSchemaOptions) =>
  Type.Unsafe<Labels>(Type.Record(Type.String(), value, { ...described, ...options }))

export const schema = objectOf(Type.String(), {
  description: `At most ${maxLabels}. A key is ${keyRule}. A value is ${valueRule}.`
})

export const shown = objectOf(Type.String(), {
  description: 'Keys and values that operators have set.'
})

export const patch = Type.Union(
  [objectOf(Type.Union([Type.String(), Type.Null()]), {}), Type.Null({ code: invalidLabels.code })],
  {
    ...described,
    description: `Labels to set. Null as a value removes a label; null instead of the object removes all. At most ${maxLabels} labels.`
  }
)

/** Returns the labels, sorted by key. Throws `validation.labels`. */
export function parseLabels(given: unknown): Labels {
  const labels = Object.entries(given as Labels) // by the schema
  for (const [label, value] of labels) {
    const field = `/${key}/${label.slice(0, 320).replaceAll('~', '~0').replaceAll('/', '~1')}`
    const problem = keyProblem(label) ?? valueProblem(value)
    if (problem !== null) throw refusal(field, 'pattern', `${field}: ${problem}`)
  }
  if (labels.length > maxLabels)
    throw refusal(
      `/${key}`,
      'maxProperties',
      `/${key} has ${labels.length} labels; the maximum is ${maxLabels}`
    )
  return Object.fromEntries(labels.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Merges a patch (RFC 7396) into the labels. */
export function mergeLabels(given: unknown, before: Labels): Labels {
  const merged = Object.entries({ ...(given === null ? {} : before), ...(given as Labels | null) })
  return parseLabels(Object.fromEntries(merged.filter(([, value]) => (value as string | null) !== null)))
}

const refusal = (field: string, reason: string, message: string): Fault =>
  new Fault(invalidLabels, message, { details: { field, reason } })
