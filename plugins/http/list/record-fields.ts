// Helpers for the owners of records: fields and filters that other plugins add.
import { type EntityManager, raw } from '@mikro-orm/sql'
import { type TProperties, Type } from 'typebox'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import type { Filled } from '../../../kernel/slot.ts'
import type { GivenField, ListFilter, RecordField } from './record-slots.ts'

type Fields = readonly Filled<RecordField>[]
type GivenFields = readonly Filled<GivenField>[]
type Filters = readonly Filled<ListFilter>[]
type Values = Readonly<Record<string, unknown>>

/** The added fields of one kind of record. */
export const recordFields = {
  /** Returns the properties of a row. */
  shown: (fields: GivenFields): TProperties =>
    Object.fromEntries(fields.map(({ value: { key, shown } }) => [key, shown])),

  /** Returns the properties of the body of a create. */
  given: (fields: GivenFields): TProperties =>
    Object.fromEntries(fields.map(({ value: { key, given } }) => [key, Type.Optional(given)])),

  /** Returns the properties of the body of PATCH. */
  patched: (fields: Fields): TProperties =>
    Object.fromEntries(fields.map(({ value: { key, patch } }) => [key, Type.Optional(patch)])),

  /** Returns the values, by key, of records without a stored value. */
  absent: (fields: GivenFields): Values =>
    Object.fromEntries(fields.map(({ value: { key, absent } }) => [key, absent])),

  errors: (fields: GivenFields): ErrorCode[] => fields.flatMap(({ value }) => value.errors),

  /** Parses the values in the body of a create. Throws Fault. */
  parse(fields: GivenFields, body: Values): Values {
    const given = fields.filter(({ value: { key } }) => body[key] !== undefined)
    return Object.fromEntries(given.map(({ value: { key, parse } }) => [key, parse(body[key], null)]))
  },

  /** Stores the parsed values of a new record. */
  async save(
    fields: Fields,
    id: string,
    { values, em }: { values: Values; em: EntityManager }
  ): Promise<void> {
    for (const { value: field } of fields)
      if (field.key in values) await field.save(id, values[field.key], em)
  },

  async patch(fields: Fields, id: string, { body, em }: { body: Values; em: EntityManager }): Promise<void> {
    for (const { value: field } of fields) {
      if (body[field.key] === undefined) continue
      const before = (await field.load([id], em)).get(id) ?? field.absent
      await field.save(id, field.parse(body[field.key], before), em)
    }
  },

  /** Returns a function that returns the fields of a row. */
  async load(fields: Fields, ids: readonly string[], em: EntityManager): Promise<(id: string) => Values> {
    const loaded = await Promise.all(
      fields.map(async ({ value }) => [value, await value.load(ids, em)] as const)
    )
    return id =>
      Object.fromEntries(loaded.map(([{ key, absent }, values]) => [key, values.get(id) ?? absent]))
  },

  /** Returns a function that returns the fields of a row as the caller sees them; null: one who sees everything. */
  async show(
    fields: Fields,
    ids: readonly string[],
    { principal, em }: { principal: Principal | null; em: EntityManager }
  ): Promise<(id: string) => Values> {
    const shown = await Promise.all(
      fields.map(async ({ value: field }) => {
        if (principal && field.isShownTo?.(principal) === false) return [field, new Map()] as const
        const values = await field.load(ids, em)
        return [field, (await field.view?.(values, em)) ?? values] as const
      })
    )
    return id => Object.fromEntries(shown.map(([{ key, absent }, values]) => [key, values.get(id) ?? absent]))
  },

  async remove(fields: Fields, ids: readonly string[], em: EntityManager): Promise<void> {
    if (ids.length > 0) for (const { value } of fields) await value.remove(ids, em)
  }
}

/** The added filters of one list. */
export const listFilters = {
  parameters: (filters: Filters): TProperties =>
    Object.fromEntries(filters.map(({ value: { parameter, schema } }) => [parameter, Type.Optional(schema)])),

  errors: (filters: Filters): ErrorCode[] => filters.flatMap(({ value }) => value.errors),

  /** Returns the condition for `find`. */
  where(filters: Filters, query: Values): object {
    const conditions = filters.flatMap(({ value: { parameter, condition } }) => {
      const given = query[parameter]
      if (given === undefined) return []
      const { sql, params } = condition(given)
      return [{ [raw(alias => sql(`${alias}.id`), [...params]) as unknown as string]: [] }]
    })
    return conditions.length === 0 ? {} : { $and: conditions }
  }
}
