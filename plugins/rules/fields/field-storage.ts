// The table rules_field_value stores the values of fields without their own tables.
import type { EntityManager } from '@mikro-orm/sql'
import { type Static, type TSchema, Type } from 'typebox'
import type { DeclaredField } from '../../../agent/wire/rule-field.ts'
import { type DeclaredTargetField, targetFieldKey } from '../../../agent/wire/target-field.ts'
import { FieldValue } from '../entities.ts'
import type { TargetValues } from './target-field.ts'

export const saveValues = async (values: readonly FieldValue[], em: EntityManager): Promise<void> => {
  for (const value of values) await em.upsert(FieldValue, value)
}

export const clearValues = async (
  rule: string,
  keys: readonly string[],
  em: EntityManager
): Promise<void> => {
  if (keys.length > 0) await em.nativeDelete(FieldValue, { rule, key: { $in: [...keys] } })
}

/** Loads the values of these fields for these rules in one query. */
export const loadValues = async (
  rules: readonly string[],
  keys: readonly string[],
  em: EntityManager
): Promise<readonly FieldValue[]> =>
  rules.length === 0 || keys.length === 0
    ? []
    : em.find(FieldValue, { rule: { $in: [...rules] }, key: { $in: [...keys] } })

/** Returns the values of a target field by rule id, as `fieldValues` does. */
export const targetValues = <B extends TSchema>(
  { key }: Pick<DeclaredTargetField<B>, 'key' | 'body'>,
  em: EntityManager,
  rules?: readonly string[]
): Promise<ReadonlyMap<string, TargetValues<B>>> =>
  fieldValues<Type.TUnsafe<TargetValues<B>>>({ key: targetFieldKey(key), body: Type.Unsafe({}) }, em, rules)

/** Returns the values of a field by rule id, for all rules or for `rules`. The field must not store its values itself. */
export async function fieldValues<B extends TSchema>(
  { key }: Pick<DeclaredField<B>, 'key' | 'body'>,
  em: EntityManager,
  rules?: readonly string[]
): Promise<ReadonlyMap<string, Static<B>>> {
  const found = await (rules ? loadValues(rules, [key], em) : em.find(FieldValue, { key }))
  return new Map(found.map(({ rule, value }) => [rule, value as Static<B>]))
}
