import type { TSchema } from 'typebox'
import { Check, Errors } from 'typebox/value'
import { Fault, invalidSchema } from '../../../kernel/base/errors.ts'
import type { Values } from '../api/rule-record.ts'
import { type DefinitionBody, fieldsIn } from '../api/schema.ts'
import type { Services } from '../services.ts'

/** Merges a patch into a body (RFC 7396). Throws unless each field that the patch touches is complete afterwards. */
export function mergeBody(
  stored: Values,
  patch: Values,
  { filled }: Pick<Services, 'filled'>
): DefinitionBody {
  const body = merge(stored, patch) as DefinitionBody
  for (const { key, body: schema } of fieldsIn(filled))
    if (key in patch && key in body) requireComplete(schema, body[key], `/${key}`)
  return body
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [key, part] of Object.entries(patch))
    if (part === null) result.delete(key)
    else result.set(key, merge(result.get(key), part))
  return Object.fromEntries(result)
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function requireComplete(schema: TSchema, value: unknown, at: string): void {
  if (Check(schema, value)) return
  const [error] = Errors(schema, value)
  const missing = error?.keyword === 'required' ? `/${error.params.requiredProperties[0]}` : ''
  const field = `${at}${error?.instancePath ?? ''}${missing}`
  const message = missing === '' ? error?.message : 'is required'
  throw new Fault(invalidSchema, `${field} ${message}`, { details: { field, reason: error?.keyword ?? '' } })
}
