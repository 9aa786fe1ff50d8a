// Order and filters of lists. They follow from the schema of the rows, so that every list has them.
import { type TProperties, type TSchema, Type } from 'typebox'
import { Fault, limitReached } from '../../../kernel/base/errors.ts'
import type { Listing, PagedRows } from '../../../kernel/http/list-route.ts'
import { asJsonSchema, type JsonSchema } from '../openapi/schemas.ts'

const maxSorted = 10_000 // rows
const minRead = 1_000 // rows at once, however few of them a filter leaves

type Row = Readonly<Record<string, unknown>>

/**
 * Returns the query parameters of a list: `sort`, by any property that has one value, and a filter for each property with
 * a few known values. `own` are those of the route, which keep their meaning.
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

/** Of a nullable property the schema of its value. */
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

/** What a request asks of a list, beside the route's own parameters. */
export interface ListQuery {
  readonly sort?: string
  readonly filters: Row // by name of the property
}

/** Returns the rows that the query asks for, in its order. */
export function queried(listing: Listing<unknown>, { sort, filters }: ListQuery): Listing<unknown> {
  const wanted = Object.entries(filters)
  const matches = (row: unknown): boolean => wanted.every(([name, value]) => (row as Row)[name] === value)
  const found = wanted.length === 0 ? listing : filtered(listing, matches)
  return sort === undefined ? found : sorted(found, sort)
}

function filtered(listing: Listing<unknown>, matches: (row: unknown) => boolean): Listing<unknown> {
  if (!('page' in listing)) return listing.filter(matches)
  return {
    /** Reads on until it has enough rows. */
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

/** Returns a list with pages by position: `all` reads every row. */
function sorted(listing: Listing<unknown>, sort: string): Listing<unknown> {
  const isDescending = sort.startsWith('-')
  const name = isDescending ? sort.slice(1) : sort
  const inOrder = (rows: readonly unknown[]) =>
    rows.toSorted((a, b) => compare((a as Row)[name], (b as Row)[name], isDescending ? -1 : 1))
  if (!('page' in listing)) return inOrder(listing)
  return { ...listing, all: async em => inOrder(await allOf(listing, em)) } as SortedRows
}

/** Rows that are read as a whole. */
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
      {
        details: { limit: maxSorted }
      }
    )
  return rows.map(({ row }) => row)
}

/** Null and absent values come last in both directions. */
function compare(a: unknown, b: unknown, direction: 1 | -1): number {
  const [hasA, hasB] = [a !== null && a !== undefined, b !== null && b !== undefined]
  if (!hasA || !hasB) return Number(hasB) - Number(hasA)
  const [x, y] = [a as string | number, b as string | number] // of one type, by the schema
  return x === y ? 0 : x < y ? -direction : direction
}
