import type { TSchema } from 'typebox'
import { Fault, invalidSchema } from '../../../kernel/base/errors.ts'
import { violationsOf } from '../../http/exports.ts'
import type { Values } from '../api/rule-record.ts'
import { type DefinitionBody, fieldsIn } from '../api/schema.ts'
import type { Services } from '../services.ts'

/** Merges a patch into a body (RFC 7396). Throws unless each field that the patch touches is complete afterwards. */
export function mergeBody(
  stored: Values,
  patch: Values,
  { filled }: Pick<Services, 'filled'>
): DefinitionBody {
  const body = mergePatch(stored, patch) as DefinitionBody
  for (const { key, body: schema } of fieldsIn(filled))
    if (key in patch && key in body) requireComplete(schema, body[key], `/${key}`)
  return body
}

/** RFC 7396. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [key, part] of Object.entries(patch))
    if (part === null) result.delete(key)
    else result.set(key, mergePatch(result.get(key), part))
  return Object.fromEntries(result)
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function requireComplete(schema: TSchema, value: unknown, at: string): void {
  const [violation] = violationsOf(schema, value)
  if (!violation) return
  const { reason, message } = violation
  const field = at + violation.field
  throw new Fault(invalidSchema, `${field} ${message}`, { details: { field, reason } })
}
