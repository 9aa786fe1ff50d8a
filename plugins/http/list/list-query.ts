// Sorting and filters of lists. They are derived from the row schema, so that every list has them.
import { type TProperties, type TSchema, Type } from 'typebox'
import { Fault, limitReached } from '../../../kernel/base/errors.ts'
import { asJsonSchema, type JsonSchema } from '../openapi/schemas.ts'
import type { Listing, PagedRows } from './list-route.ts'

const maxSorted = 10_000 // rows
const minRead = 1_000 // rows per read, however few match a filter

type Row = Readonly<Record<string, unknown>>

/**
 * Returns the query parameters of a list: `sort` by any scalar property, and a filter for each property with a few known
 * values. The parameters of the route in `own` take precedence.
 */
export function listParameters(reply: TSchema, own: TProperties): TProperties {
  const { properties = {} } = asJsonSchema(reply).items ?? {}
  const names = Object.keys(properties).filter(name => isScalar(properties[name]))
  const filters = Object.entries(properties).flatMap(([name, part]) => {
    const schema = filterOf(part)
    return schema ? [[name, Type.Optional(schema)]] : []
  })
  const orders = names.flatMap(name => [Type.Literal(name), Type.Literal(`-${name}`)])
  return {
    ...(orders.length > 0 && { sort: Type.Optional(Type.Union(orders, { description: sortText })) }),
    ...Object.fromEntries(filters),
    ...own
  }
}

const sortText = 'Order of the rows; with `-` descending. Null comes last.'

/** Returns the value schema of a nullable property. */
const withoutNull = (part: JsonSchema): JsonSchema => {
  const [first, second, ...more] = part.anyOf ?? []
  return first && second?.type === 'null' && more.length === 0 ? first : part
}

const isScalar = (part: JsonSchema = {}): boolean => {
  const { type, anyOf } = withoutNull(part)
  return (
    anyOf?.every(one => 'const' in one || one.type === 'null') ??
    /^(string|integer|number|boolean)$/.test(String(type))
  )
}

function filterOf(part: JsonSchema): TSchema | null {
  const { type, anyOf = [] } = withoutNull(part)
  const description = 'Only rows with this value.'
  if (type === 'boolean') return Type.Boolean({ description })
  const values = anyOf.flatMap(one => (typeof one['const'] === 'string' ? [one['const']] : []))
  if (values.length === 0) return null
  return Type.Union(
    values.map(value => Type.Literal(value)),
    { description, examples: [values[0]] }
  )
}

/** Sorting and filters of a request. */
export interface ListQuery {
  readonly sort?: string
  readonly filters: Row // by name of the property
}

/** Applies the filters and the order of the query. */
export function queried(listing: Listing<unknown>, { sort, filters }: ListQuery): Listing<unknown> {
  const wanted = Object.entries(filters)
  const matches = (row: unknown): boolean => wanted.every(([name, value]) => (row as Row)[name] === value)
  const found = wanted.length === 0 ? listing : filtered(listing, matches)
  return sort === undefined ? found : sorted(found, sort)
}

function filtered(listing: Listing<unknown>, matches: (row: unknown) => boolean): Listing<unknown> {
  if (!('page' in listing)) return listing.filter(matches)
  return {
    /** Reads until it has enough rows. */
    async page(after, take, em) {
      const atOnce = Math.max(take, minRead)
      const found: { key: string; row: unknown }[] = []
      for (let from = after; ; ) {
        const page = await listing.page(from, atOnce, em)
        found.push(...page.filter(({ row }) => matches(row)))
        const last = page.at(-1)
        if (found.length >= take || page.length < atOnce || !last) return found.slice(0, take)
        from = last.key
      }
    }
  }
}

/** Returns a list with pages by offset. `all` reads every row. */
function sorted(listing: Listing<unknown>, sort: string): Listing<unknown> {
  const isDescending = sort.startsWith('-')
  const name = isDescending ? sort.slice(1) : sort
  const inOrder = (rows: readonly unknown[]) =>
    rows.toSorted((a, b) => compare((a as Row)[name], (b as Row)[name], isDescending ? -1 : 1))
  if (!('page' in listing)) return inOrder(listing)
  return { ...listing, all: async em => inOrder(await allOf(listing, em)) } as SortedRows
}

/** Rows that are read completely. */
export interface SortedRows extends PagedRows<unknown> {
  all(em: Parameters<PagedRows<unknown>['page']>[2]): Promise<readonly unknown[]>
}

export const isSorted = (listing: Listing<unknown>): listing is SortedRows => 'all' in listing

async function allOf(listing: PagedRows<unknown>, em: Parameters<SortedRows['all']>[0]): Promise<unknown[]> {
  const rows = await listing.page('', maxSorted + 1, em)
  if (rows.length > maxSorted)
    throw new Fault(
      limitReached,
      `more than ${maxSorted} rows cannot be sorted; add a filter, or leave out sort`,
      { details: { limit: maxSorted } }
    )
  return rows.map(({ row }) => row)
}

/** Null and absent values come last in both directions. */
function compare(a: unknown, b: unknown, direction: 1 | -1): number {
  const hasA = a !== null && a !== undefined
  const hasB = b !== null && b !== undefined
  if (!hasA || !hasB) return Number(hasB) - Number(hasA)
  if (a === b) return 0
  return (a as string | number) < (b as string | number) ? -direction : direction // the schema gives both one type
}
