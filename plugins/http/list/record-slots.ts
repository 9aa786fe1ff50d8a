// Properties that a plugin adds to the records of others, and parameters by which lists are filtered in SQL. The slots
// are defined here, not by their owners: whoever fills them needs none of the owners, which may not be loaded.
import type { EntityManager } from '@mikro-orm/sql'
import type { TProperties, TSchema } from 'typebox'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { Column } from '../../../kernel/cli/command.ts'
import { defineSlot } from '../../../kernel/slot.ts'

/** A property of what becomes a record, such as a client that is yet to be enrolled. */
export interface GivenField {
  readonly key: string // 'labels'
  readonly shown: TSchema
  readonly given: TSchema // in the body that creates the record
  readonly absent: unknown // shown for records that `load` does not return
  readonly errors: readonly ErrorCode[] // of `parse`, for OpenAPI
  /** Returns the value to store, or throws a Fault. `before` is null when the record is created. */
  parse(given: unknown, before: unknown): unknown
}

/** A property of the records of one kind: in the body that creates one, in PATCH, and in reads. */
export interface RecordField extends GivenField {
  readonly patch: TSchema // in PATCH
  load(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, unknown>>
  /** Stores the value in place of an earlier one, in the transaction of the change. */
  save(id: string, value: unknown, em: EntityManager): Promise<void>
  /** Deletes the values of deleted records, in the same transaction. */
  remove(ids: readonly string[], em: EntityManager): Promise<void>
}

/** A query parameter of a list. */
export interface ListFilter {
  readonly parameter: string // 'selector'
  readonly schema: TSchema
  readonly errors: readonly ErrorCode[] // of `condition`, for OpenAPI
  /** Returns SQL that is true for the wanted records. Throws a Fault. */
  condition(given: unknown): SqlCondition
}

export interface SqlCondition {
  sql(id: string): string // of the column with the records' ids
  readonly params: readonly (string | number)[]
}

const fieldSlot = <F extends GivenField = RecordField>(owner: string) =>
  defineSlot<F>(`${owner}.field`, { ifOwnerMissing: 'inert', keyOf: ({ key }) => key })

const filterSlot = (owner: string) =>
  defineSlot<ListFilter>(`${owner}.filter`, { ifOwnerMissing: 'inert', keyOf: ({ parameter }) => parameter })

/** Fields of rules are `rules.ruleFieldSlot`. */
export const recordFieldSlots = {
  client: fieldSlot('clients'),
  /** Values of clients that are yet to be enrolled. The slot of clients must have the same fields. */
  enrollment: fieldSlot<GivenField>('enrollment'),
  user: fieldSlot('users'),
  grant: fieldSlot('grants')
}

export const listFilterSlots = {
  client: filterSlot('clients'),
  user: filterSlot('users'),
  grant: filterSlot('grants'),
  rule: filterSlot('rules')
}

/** What the document of `apply` has of one kind of object: the server judges its entries, and commands ask for the rest. */
export interface DocumentSchema {
  readonly name: string // of the list in the document: 'rules'
  /** Returns the schema of an entry. */
  entry(): TSchema
  /** Returns what records show of properties that were left out, by key. */
  defaults?(): Readonly<Record<string, unknown>>
  /** Returns properties that tell objects apart, besides those that the kind always compares. */
  distinguishing?(): readonly string[]
}

export const documentSchemaSlot = defineSlot<DocumentSchema>('apply.schema', {
  ifOwnerMissing: 'inert',
  keyOf: ({ name }) => name
})

/** Options of the command that creates a record; `body` converts them to properties of its request. */
export interface RecordOptions {
  readonly args: TProperties
  body(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
}

/** Options and columns of the command that lists records; `query` converts options to parameters of its request. */
export interface ListOptions {
  readonly args: TProperties
  query(args: Readonly<Record<string, unknown>>): Readonly<Record<string, string>>
  readonly columns: readonly Column<object>[]
}

const optionSlot = (owner: string) =>
  defineSlot<RecordOptions>(`${owner}.options`, { ifOwnerMissing: 'inert' })

const listOptionSlot = (owner: string) =>
  defineSlot<ListOptions>(`${owner}.list-options`, { ifOwnerMissing: 'inert' })

/** Those of rules are `rules.pushOptionsSlot`. */
export const recordOptionSlots = {
  enrollment: optionSlot('enrollment'),
  user: optionSlot('users'),
  grant: optionSlot('grants')
}

export const listOptionSlots = {
  client: listOptionSlot('clients'),
  user: listOptionSlot('users'),
  grant: listOptionSlot('grants'),
  rule: listOptionSlot('rules')
}

type FilledOptions<O> = readonly { readonly value: O }[]

/** Returns the options that plugins add to a command. */
export const addedArgs = (options: FilledOptions<{ readonly args: TProperties }>): TProperties =>
  Object.assign({}, ...options.map(({ value }) => value.args))

/** Returns what the added options put into the body of the request. */
export const addedBody = (options: FilledOptions<RecordOptions>, args: object): object =>
  Object.assign({}, ...options.map(({ value }) => value.body({ ...args })))

/** Returns what the added options put into the query of the request. */
export const addedQuery = (
  options: FilledOptions<ListOptions>,
  args: object
): Readonly<Record<string, string>> =>
  Object.assign({}, ...options.map(({ value }) => value.query({ ...args })))

export const addedColumns = (options: FilledOptions<ListOptions>): readonly Column<object>[] =>
  options.flatMap(({ value }) => value.columns)
