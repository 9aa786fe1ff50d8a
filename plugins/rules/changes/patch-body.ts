// The body of PATCH: a JSON Merge Patch (RFC 7396) of the rule as create takes it.
import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/sql'
import type { TSchema } from 'typebox'
import { Check, Errors } from 'typebox/value'
import { Fault, invalidSchema } from '../../../kernel/base/errors.ts'
import { unknownField } from '../../http/exports.ts'
import type { Values } from '../api/rule-record.ts'
import { type DefinitionBody, fieldsIn, type PatchBody, readOnlyIn } from '../api/schema.ts'
import type { Services } from '../services.ts'
import type { Stored } from './apply-change.ts'
import { immutable, isClient } from './rule-body.ts'

const fixed = ['client', 'protocol', 'owner'] as const

/** Returns the part of a patch that may change the rule. */
export function editsOf(patch: PatchBody, { filled }: Pick<Services, 'filled'>): Values {
  const left = new Set<string>([...readOnlyIn(filled), ...fixed, 'placed_by'])
  const edits = Object.fromEntries(Object.entries(patch).filter(([key]) => !left.has(key)))
  if (!patch.targets) return edits
  // What a record shows of a target, such as its health, changes by itself.
  const targets = patch.targets.map(({ host, port, priority, weight }) => ({
    host,
    port,
    ...(priority !== undefined && { priority }),
    ...(weight !== undefined && { weight })
  }))
  return { ...edits, targets }
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges by RFC 7396, 2. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [key, part] of Object.entries(patch))
    if (part === null) result.delete(key)
    else result.set(key, merge(result.get(key), part))
  return Object.fromEntries(result)
}

/** Returns the whole body that a patch makes. Throws unless each field that it touches is whole, too. */
export function merged(stored: Values, edits: Values, { filled }: Services): DefinitionBody {
  const body = merge(stored, edits) as DefinitionBody
  for (const { key, body: schema } of fieldsIn(filled))
    if (key in edits && key in body) requireWhole(schema, body[key], `/${key}`)
  return body
}

function requireWhole(schema: TSchema, value: unknown, at: string): void {
  if (Check(schema, value)) return
  const [error] = Errors(schema, value)
  const missing = error?.keyword === 'required' ? `/${error.params.requiredProperties[0]}` : ''
  const field = `${at}${error?.instancePath ?? ''}${missing}`
  const message = missing === '' ? error?.message : 'is required'
  throw new Fault(invalidSchema, `${field} ${message}`, { details: { field, reason: error?.keyword ?? '' } })
}

/** Throws unless what a patch repeats of the record is as it is there. */
export async function requireUnchanged(
  { rule }: Stored,
  patch: PatchBody,
  { reader, filled }: Services,
  em: EntityManager
): Promise<void> {
  const { client, protocol, owner } = patch
  if (client !== undefined && !(await isClient(rule, String(client), em))) throw immutable('client')
  if (protocol !== undefined && String(protocol).toLowerCase() !== rule.protocol) throw immutable('protocol')
  if (owner !== undefined && owner !== rule.owner) throw immutable('owner')
  const repeated = readOnlyIn(filled).filter(key => key in patch)
  if (repeated.length === 0) return
  const record: Values = await reader.recordOf(rule, em)
  const other = repeated.find(key => !isDeepStrictEqual(patch[key], record[key]))
  if (other === undefined) return
  const details = { field: `/${other}`, reason: 'read_only' }
  throw new Fault(unknownField, `/${other} is read-only, and not as the record has it`, { details })
}
