// Finds what a value violates in a schema. Sizes come first, and the work is linear in the value: the library's own
// `Errors` judges every element of a list that is too long, and every alternative of a union.
import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { Errors } from 'typebox/value'

/** One reason why a value does not match its schema. */
export interface Violation {
  readonly field: string // JSON pointer (RFC 6901); '' for the value itself
  readonly reason: string // the keyword: 'maxItems', 'required', 'additionalProperties'
  readonly message: string // continues the field: 'must be integer'
  readonly code: string | undefined // `code` of the innermost schema that has one
  readonly unknown?: { readonly name: string; readonly known: readonly string[] } // of an unknown field
}

const maxViolations = 16

const uniqueList: TSchema = { uniqueItems: true }
const validators = new WeakMap<TSchema, ReturnType<typeof Compile>>()

/** Compiles the validator of a schema at its first use, which keeps starts fast. */
function isValid(schema: TSchema, value: unknown): boolean {
  const validator = validators.get(schema) ?? Compile(schema)
  validators.set(schema, validator)
  return validator.Check(value)
}

/** Returns an exceeded size alone, or else at most 16 violations, unknown fields first. */
export function violationsOf(schema: TSchema, value: unknown): readonly Violation[] {
  const exceeded = sizeExceeded(schema, value, root)
  if (exceeded) return [exceeded]
  if (isValid(schema, value)) return []
  const search = new Search()
  search.visit(schema, value, root)
  const found = [...search.unknown, ...search.others]
  if (found.length > 0) return found
  const [error] = Errors(schema, value) // of a keyword that `partsOf` does not know
  if (!error) throw new TypeError('a value that fails its schema has no error')
  return [ofLibrary(root, error)]
}

/** A part of the value: the key that leads to it from its parent, and the `code` that applies there. */
interface Place {
  readonly parent: Place | null
  readonly key: string | number
  readonly code: string | undefined
}

/** True if the schema, or one of a part of the value, has a size. */
function hasSizes(schema: TSchema): boolean {
  const known = sizedSchemas.get(schema)
  if (known !== undefined) return known
  sizedSchemas.set(schema, false) // while a recursive schema is searched
  const { sizes, properties, patterns, additional, items, anyOf, allOf } = partsOf(schema)
  const parts = [...Object.values(properties), ...patterns.map(({ schema }) => schema), additional, items]
  const found = sizes !== null || [...parts, ...anyOf, ...allOf].some(part => part && hasSizes(part))
  sizedSchemas.set(schema, found)
  return found
}

const sizedSchemas = new WeakMap<TSchema, boolean>()

const root: Place = { parent: null, key: '', code: undefined }

type Schemas = Readonly<Record<string, TSchema>>

/** The keywords of a schema, divided by how they are judged. */
interface Parts {
  readonly sizes: TSchema | null // maxItems, maxLength and maxProperties
  readonly own: TSchema // the rest, without schemas of parts of the value
  readonly refine: TSchema | null // judged once everything else holds
  readonly isUnique: boolean
  readonly code: string | undefined
  readonly properties: Schemas
  readonly patterns: readonly { readonly pattern: RegExp; readonly schema: TSchema }[]
  readonly additional: TSchema | false | undefined
  readonly items: TSchema | undefined
  readonly anyOf: readonly TSchema[]
  readonly allOf: readonly TSchema[]
}

const partsBySchema = new WeakMap<TSchema, Parts>()

function partsOf(schema: TSchema): Parts {
  const known = partsBySchema.get(schema) ?? divide(schema)
  partsBySchema.set(schema, known)
  return known
}

function divide(schema: TSchema): Parts {
  const keywords = schema as Readonly<Record<string, unknown>>
  const { maxItems, maxLength, maxProperties, uniqueItems, code, ...others } = keywords
  const { properties, patternProperties, additionalProperties, items, anyOf, allOf, ...rest } = others
  const { $ref: _, unevaluatedItems: __, unevaluatedProperties: ___, ...own } = rest
  const sizes = Object.entries({ maxItems, maxLength, maxProperties }).filter(
    ([, size]) => size !== undefined
  )
  const isTuple = Array.isArray(items)
  return {
    sizes: sizes.length > 0 ? Object.fromEntries(sizes) : null,
    own: isTuple ? { ...own, items } : own,
    refine: '~refine' in keywords ? { '~refine': keywords['~refine'] } : null,
    isUnique: uniqueItems === true,
    code: typeof code === 'string' ? code : undefined,
    properties: (properties ?? {}) as Schemas,
    patterns: Object.entries((patternProperties ?? {}) as Schemas).map(([pattern, schema]) => ({
      pattern: new RegExp(pattern, 'u'),
      schema
    })),
    additional: additionalProperties === true ? undefined : (additionalProperties as Parts['additional']),
    items: isTuple ? undefined : (items as TSchema | undefined),
    anyOf: (anyOf ?? []) as readonly TSchema[],
    allOf: (allOf ?? []) as readonly TSchema[]
  }
}

/** Returns the first size that the value exceeds, or null. Reads no element of a list that is too long. */
function sizeExceeded(schema: TSchema, value: unknown, at: Place): Violation | null {
  const parts = partsOf(schema)
  const here = parts.code === undefined ? at : { ...at, code: parts.code }
  const error = parts.sizes && mayExceed(parts.sizes, value) ? Errors(parts.sizes, value)[0] : undefined
  if (error) return ofLibrary(here, error)
  if (typeof value !== 'object' || value === null) return null
  const branches = parts.anyOf.filter(branch => acceptsKind(branch, value))
  const same = [...parts.allOf, ...(branches.length === 1 ? branches : [])] // several could accept different sizes
  for (const part of same) {
    const found = sizeExceeded(part, value, here)
    if (found) return found
  }
  if (parts.items && !hasSizes(parts.items)) return null
  for (const [key, part, schema] of childrenOf(parts, value)) {
    const found = isSmall(partsOf(schema), part) ? null : sizeExceeded(schema, part, below(here, key))
    if (found) return found
  }
  return null
}

/** Passes most strings and numbers at once: a list can have tens of thousands. */
const isSmall = ({ sizes, anyOf, allOf }: Parts, value: unknown): boolean =>
  typeof value !== 'object' &&
  anyOf.length + allOf.length === 0 &&
  (sizes === null || !mayExceed(sizes, value))

/** Cheap: false where no size can be exceeded. The library counts code points. */
function mayExceed(sizes: TSchema, value: unknown): boolean {
  const { maxItems, maxLength, maxProperties } = sizes as Readonly<Record<string, number | undefined>>
  if (typeof value === 'string') return maxLength !== undefined && value.length > maxLength
  if (Array.isArray(value)) return maxItems !== undefined && value.length > maxItems
  if (typeof value !== 'object' || value === null || maxProperties === undefined) return false
  return Object.keys(value).length > maxProperties
}

/** Yields the parts of an object or a list that have schemas. */
function* childrenOf(parts: Parts, value: object): Generator<[string | number, unknown, TSchema]> {
  if (ArrayBuffer.isView(value)) return // a file of a form
  if (Array.isArray(value)) {
    const { items } = parts
    if (items) for (let index = 0; index < value.length; index++) yield [index, value[index], items]
    return
  }
  for (const [key, part] of Object.entries(value)) {
    const schema = schemaOfKey(parts, key)
    if (schema) yield [key, part, schema]
  }
}

/** Returns false for a key that the object must not have, undefined for one that nothing restricts. */
function schemaOfKey({ properties, patterns, additional }: Parts, key: string): TSchema | false | undefined {
  if (Object.hasOwn(properties, key)) return properties[key]
  return patterns.find(({ pattern }) => pattern.test(key))?.schema ?? additional
}

/** Collects violations, and stops at the maximum. */
class Search {
  readonly unknown: Violation[] = []
  readonly others: Violation[] = []

  get #count(): number {
    return this.unknown.length + this.others.length
  }

  visit(schema: TSchema, value: unknown, at: Place): void {
    if (this.#count >= maxViolations) return
    const before = this.#count
    const parts = partsOf(schema)
    const here = parts.code === undefined ? at : { ...at, code: parts.code }
    this.#visitOwn(parts, value, here)
    if (parts.anyOf.length > 0 && !isValid(schema, value)) this.#visitUnion(parts.anyOf, value, here)
    for (const part of parts.allOf) this.visit(part, value, at)
    if (typeof value === 'object' && value !== null) this.#visitChildren(parts, value, here)
    if (this.#count === before && parts.refine) this.#addErrors(parts.refine, value, here)
  }

  #visitOwn(parts: Parts, value: unknown, here: Place): void {
    this.#addErrors(parts.own, value, here, parts.properties)
    if (parts.isUnique && !isValid(uniqueList, value))
      this.#add(violation(here, 'uniqueItems', 'must not have duplicate items'))
    if (parts.additional !== false || typeof value !== 'object' || value === null || Array.isArray(value))
      return
    const known = Object.keys(parts.properties)
    for (const key of Object.keys(value)) {
      if (schemaOfKey(parts, key) !== false) continue
      if (this.#count >= maxViolations) return
      const unknown = { name: key.slice(0, 64), known }
      const place = below(here, unknown.name)
      this.unknown.push({ ...violation(place, 'additionalProperties', 'is unknown here'), unknown })
    }
  }

  /** Reports the alternative that the value most likely means: one of its kind, and not null. */
  #visitUnion(anyOf: readonly TSchema[], value: unknown, here: Place): void {
    const meant = anyOf.filter(branch => !Type.IsNull(branch))
    const branch = meant.find(one => acceptsKind(one, value))
    if (branch && Type.IsLiteral(branch) && meant.every(one => Type.IsLiteral(one)))
      this.#add(violation(here, 'const', `must be one of ${meant.map(one => String(one.const)).join(', ')}`))
    else if (branch ?? meant[0]) this.visit((branch ?? meant[0]) as TSchema, value, here)
  }

  /** Judges elements and members by the compiled validator, which passes valid ones fast. */
  #visitChildren(parts: Parts, value: object, here: Place): void {
    for (const [key, part, schema] of childrenOf(parts, value)) {
      if (this.#count >= maxViolations) return
      if (!isValid(schema, part)) this.visit(schema, part, below(here, key))
    }
  }

  #addErrors(schema: TSchema, value: unknown, here: Place, properties: Schemas = {}): void {
    for (const error of Errors(schema, value))
      if (error.keyword !== 'required') this.#add(ofLibrary(here, error))
      else
        for (const name of error.params.requiredProperties) {
          const own = properties[name] && partsOf(properties[name]).code
          const place = below(own === undefined ? here : { ...here, code: own }, name)
          this.#add(violation(place, 'required', 'is required'))
        }
  }

  #add(found: Violation): void {
    if (this.#count < maxViolations) this.others.push(found)
  }
}

const below = (parent: Place, key: string | number): Place => ({ parent, key, code: parent.code })

const violation = (at: Place, reason: string, message: string): Violation => ({
  field: pointerTo(at),
  reason,
  message,
  code: at.code
})

const ofLibrary = (at: Place, { keyword, message, instancePath }: TLocalizedValidationError): Violation => {
  const found = violation(at, keyword === '~refine' ? 'format' : keyword, message)
  return { ...found, field: found.field + instancePath }
}

const longestKey = 320 // of a label; a longer one is cut in errors

const pointerTo = ({ parent, key }: Place): string =>
  parent === null ? '' : appendKey(pointerTo(parent), String(key).slice(0, longestKey))

/** Appends a key to a JSON pointer (RFC 6901). */
export const appendKey = (pointer: string, key: string): string =>
  `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** False if the type of the value is another one than that of the schema. */
function acceptsKind(schema: TSchema, value: unknown): boolean {
  const { type } = schema as { readonly type?: unknown }
  if (typeof type !== 'string') return true
  if (value === null) return type === 'null'
  if (typeof value === 'number') return type === 'number' || type === 'integer'
  return type === (Array.isArray(value) ? 'array' : typeof value)
}
