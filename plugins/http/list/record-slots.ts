// Slots for properties that plugins add to records of others, and for list filters in SQL. They are defined here, so that
// plugins that fill them do not need the owners, which may not be loaded.
import type { EntityManager } from '@mikro-orm/sql'
import type { TProperties, TSchema } from 'typebox'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { Column } from '../../../kernel/cli/command.ts'
import type { Principal } from '../../../kernel/http/principal.ts'
import { defineSlot } from '../../../kernel/slot.ts'

/** A property of a future record, such as a client before its enrollment. */
export interface GivenField {
  readonly key: string // 'labels'
  readonly shown: TSchema
  readonly given: TSchema // in the body of a create
  readonly absent: unknown // value of records that `load` does not return
  readonly errors: readonly ErrorCode[] // of `parse`, for OpenAPI
  /** Returns the value to store. Throws Fault. `before` is null for a new record. */
  parse(given: unknown, before: unknown): unknown
}

/** A property of one kind of record: in creates, PATCH and reads. */
export interface RecordField extends GivenField {
  readonly patch: TSchema // in PATCH
  load(ids: readonly string[], em: EntityManager): Promise<ReadonlyMap<string, unknown>>
  /** Returns the values as records show them. Default: the loaded ones. ETags follow the loaded values. */
  view?(values: ReadonlyMap<string, unknown>, em: EntityManager): Promise<ReadonlyMap<string, unknown>>
  /** Returns false for callers that see `absent` in records. Default: true. */
  isShownTo?(principal: Principal): boolean
  /** Stores or replaces the value in the transaction of the change. */
  save(id: string, value: unknown, em: EntityManager): Promise<void>
  /** Deletes the values of deleted records in the same transaction. */
  remove(ids: readonly string[], em: EntityManager): Promise<void>
}

/** A query parameter of a list. */
export interface ListFilter {
  readonly parameter: string // 'selector'
  readonly schema: TSchema
  readonly errors: readonly ErrorCode[] // of `condition`, for OpenAPI
  /** Returns SQL that is true for matching records. Throws Fault. */
  condition(given: unknown): SqlCondition
}

export interface SqlCondition {
  sql(id: string): string // `id` is the column with the record ids
  readonly params: readonly (string | number)[]
}

const fieldSlot = <F extends GivenField = RecordField>(owner: string) =>
  defineSlot<F>(`${owner}.field`, { ifOwnerMissing: 'inert', keyOf: ({ key }) => key })

const filterSlot = (owner: string) =>
  defineSlot<ListFilter>(`${owner}.filter`, { ifOwnerMissing: 'inert', keyOf: ({ parameter }) => parameter })

/** Rules have their own slot: `rules.ruleFieldSlot`. */
export const recordFieldSlots = {
  client: fieldSlot('clients'),
  /** Values for clients before their enrollment. The slot of clients must have the same fields. */
  enrollment: fieldSlot<GivenField>('enrollment'),
  user: fieldSlot('users'),
  grant: fieldSlot('grants'),
  link: fieldSlot('links')
}

export const listFilterSlots = {
  client: filterSlot('clients'),
  user: filterSlot('users'),
  grant: filterSlot('grants'),
  rule: filterSlot('rules'),
  link: filterSlot('links')
}

type DocumentEntry = Readonly<Record<string, unknown>>

/** One kind of object in the document of `apply`. The server validates its entries; commands ask for the rest. */
export interface DocumentSchema {
  readonly name: string // name of the list in the document: 'rules'
  /** Returns the schema of an entry. */
  entry(): TSchema
  /**
   * Returns the entry with each value as a record shows it after the create, by the code of the create. Names of clients are
   * already ids. Throws the Faults of the create that depend on the entry alone. Default: the entry as given.
   */
  normalize?(entry: DocumentEntry, principal: Principal): DocumentEntry
  /** Error codes of `normalize`, for OpenAPI. */
  errors?(): readonly ErrorCode[]
  /** Returns the values of omitted properties, by key. */
  defaults?(): Readonly<Record<string, unknown>>
  /** Returns properties of parts of an object that only records show: 'targets.health'. */
  readOnly?(): readonly string[]
  /** Returns properties that identify an object, besides those that the kind always compares. */
  distinguishing?(): readonly string[]
}

export const documentSchemaSlot = defineSlot<DocumentSchema>('apply.schema', {
  ifOwnerMissing: 'inert',
  keyOf: ({ name }) => name
})

/** Options of the command that creates a record. `body` converts them to properties of the request. */
export interface RecordOptions {
  readonly args: TProperties
  body(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
}

/** Options and columns of the command that lists records. `query` converts options to parameters of the request. */
export interface ListOptions {
  readonly args: TProperties
  query(args: Readonly<Record<string, unknown>>): Readonly<Record<string, string>>
  readonly columns: readonly Column<object>[]
}

const optionSlot = (owner: string) =>
  defineSlot<RecordOptions>(`${owner}.options`, { ifOwnerMissing: 'inert' })

const listOptionSlot = (owner: string) =>
  defineSlot<ListOptions>(`${owner}.list-options`, { ifOwnerMissing: 'inert' })

/** Rules have their own slot: `rules.pushOptionsSlot`. */
export const recordOptionSlots = {
  enrollment: optionSlot('enrollment'),
  user: optionSlot('users'),
  grant: optionSlot('grants')
}

export const listOptionSlots = {
  client: listOptionSlot('clients'),
  user: listOptionSlot('users'),
  grant: listOptionSlot('grants'),
  rule: listOptionSlot('rules'),
  link: listOptionSlot('links'),
  connection: listOptionSlot('connections')
}

type FilledOptions<O> = readonly { readonly value: O }[]

/** Returns options that plugins add to a command. */
export const addedArgs = (options: FilledOptions<{ readonly args: TProperties }>): TProperties =>
  Object.assign({}, ...options.map(({ value }) => value.args))

/** Returns properties of the request body from added options. */
export const addedBody = (options: FilledOptions<RecordOptions>, args: object): object =>
  Object.assign({}, ...options.map(({ value }) => value.body({ ...args })))

/** Returns query parameters from added options. */
export const addedQuery = (
  options: FilledOptions<ListOptions>,
  args: object
): Readonly<Record<string, string>> =>
  Object.assign({}, ...options.map(({ value }) => value.query({ ...args })))

export const addedColumns = (options: FilledOptions<ListOptions>): readonly Column<object>[] =>
  options.flatMap(({ value }) => value.columns)
