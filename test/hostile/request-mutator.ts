// Generates requests from the OpenAPI document of a server, with values at and beyond their bounds.
import type { SeededRandom } from '../bench/soak/seeded-random.ts'
import { type ApiDocument, type JsonSchema, listOperations, type Operation } from '../support/api-document.ts'

export type { Operation } from '../support/api-document.ts'

/** A generated request. `path` has the query. */
export interface MutatedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
}

/** Requests that would end the attack itself, or never end. */
const left = /logout|credentials|sessions|\/me\/password/

export async function operationsOf(origin: string): Promise<Operation[]> {
  const reply = await fetch(`${origin}/v1/openapi.json`)
  return listOperations((await reply.json()) as ApiDocument)
}

export const isFuzzed = ({ method, url, isStream }: Operation): boolean =>
  !isStream && (method === 'GET' || !left.test(url))

const odd = [
  null,
  true,
  -1,
  0,
  1.5,
  2 ** 53,
  -(2 ** 63),
  1e308,
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\u202e\u{1f600}',
  '../..',
  '%00',
  '__proto__',
  'é'.repeat(300),
  '0'.repeat(10_000),
  [],
  {},
  [[[]]],
  { constructor: { prototype: {} } }
]
const rawBodies = [
  '',
  '{',
  '[]',
  'null',
  '"x"',
  '1e999',
  '{"a":1,"a":2}',
  '\ufeff{}',
  `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`,
  '{"a":'.repeat(5000),
  '{"__proto__":{"role":"superadmin"}}',
  JSON.stringify(Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`f${i}`, i]))),
  JSON.stringify(Array.from({ length: 3000 }, () => ({}))),
  Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])
]
const contentTypes = [
  'application/json; charset=utf-8',
  'application/json; charset=utf-16',
  'application/merge-patch+json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  ''
]
const oddHeaders: readonly (readonly [string, string])[] = [
  ['if-match', '*'],
  ['if-match', '"x", W/"y"'],
  ['if-none-match', '*'],
  ['if-none-match', '"x"'],
  ['idempotency-key', 'not valid!'],
  ['content-encoding', 'gzip'],
  ['accept', 'text/csv'],
  ['accept', 'text/html'],
  ['accept-encoding', 'gzip'],
  ['cookie', 'svc_session=x; svc_session=y; a=%zz'],
  ['origin', 'http://evil.example'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['x-request-id', 'a b'],
  ['x-svc-csrf', '1']
]
const hugeBytes = 3 * 2 ** 20
const maxHarvested = 50 // of each kind
/** Fields that hold ids of another name. */
const kinds: Readonly<Record<string, string>> = { client: 'client_id', owner: 'user_id', owner_id: 'user_id' }

export function mutator(dice: SeededRandom, known: readonly string[]) {
  const ids = [...known, '_operator', '*', '%00', '%ff', 'x'.repeat(5000)]
  const harvested = new Map<string, string[]>() // ids by the name of their field
  const etags: string[] = []

  /** Returns an id for a field or path parameter of this name: mostly one that responses had. */
  function idFor(name: string): string {
    const kind = kinds[name] ?? name
    const found = harvested.get(kind) ?? []
    return dice.pick(found.length === 0 || dice.oneIn(5) ? ids : found) ?? ''
  }
  const draw = openDraw(dice, idFor)

  function queryOf({ parameters }: Operation): string {
    const given = parameters
      .filter(({ in: place }) => place === 'query' && dice.oneIn(3))
      .map(({ name, schema }): [string, string] => [
        name,
        textOf(dice.oneIn(3) ? dice.pick(odd) : draw(schema, name))
      ])
    if (dice.oneIn(40)) given.push(['surplus', '1'])
    if (dice.oneIn(20)) given.push(...given.slice(0, 1)) // twice
    return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
  }

  /** Returns undefined for a request without a body. */
  function bodyOf({ method, body }: Operation): string | Buffer | undefined {
    if (method === 'GET') return undefined
    if (dice.oneIn(200)) return JSON.stringify('x'.repeat(hugeBytes))
    if (dice.oneIn(20)) return dice.pick(rawBodies)
    return body === null ? undefined : JSON.stringify(draw(body))
  }

  function headersOf(body: string | Buffer | undefined): Record<string, string> {
    const headers: Record<string, string> = {}
    if (body !== undefined) headers['content-type'] = 'application/json'
    if (dice.oneIn(30)) headers['content-type'] = dice.pick(contentTypes) ?? ''
    if (dice.oneIn(4)) headers['idempotency-key'] = `key-${dice.below(50)}`
    if (dice.oneIn(10)) headers['if-match'] = dice.pick(etags) ?? '"none"'
    const [name, value] = dice.pick(oddHeaders) ?? []
    if (name !== undefined && value !== undefined && dice.oneIn(6)) headers[name] = value
    return headers
  }

  return {
    requestOf(operation: Operation): MutatedRequest {
      const path = operation.url.replaceAll(/\{\w+\}/g, part =>
        encodeURI(idFor(part.slice(1, -1))).replaceAll('%25', '%')
      )
      const body = bodyOf(operation)
      return { path: path + queryOf(operation), headers: headersOf(body), body }
    },
    /** Takes ids and versions from a response, for later requests. */
    harvest(body: string, etag: string | null): void {
      for (const [, kind = '', id = ''] of [...body.matchAll(/"(\w+_(?:id|name))":"([^"\\]{1,64})"/g)].slice(
        0,
        20
      ))
        harvested.set(kind, [...(harvested.get(kind) ?? []), id].slice(-maxHarvested))
      if (etag !== null) etags.push(etag)
      etags.splice(0, etags.length - maxHarvested)
    }
  }
}

const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

/** Returns a function that draws a value of a schema, which may break it. */
function openDraw(dice: SeededRandom, idFor: (name: string) => string) {
  let isTame = false // chosen for each value: most parts of a tame one keep to the schema

  function draw(schema: JsonSchema, name = '', depth = 0): unknown {
    if (depth === 0) isTame = dice.oneIn(2)
    if (dice.oneIn(isTame ? 200 : 12)) return dice.pick(odd)
    if (schema.const !== undefined) return schema.const
    if (schema.enum) return dice.pick(schema.enum)
    if (schema.anyOf) return draw(dice.pick(schema.anyOf) ?? {}, name, depth)
    if (schema.examples && dice.oneIn(2)) return dice.pick(schema.examples)
    if (schema.properties) return depth < 6 ? objectOf(schema, depth) : {}
    if (schema.type === 'array') return listOf(schema, name, depth)
    if (schema.type === 'integer' || schema.type === 'number') return numberOf(schema, name)
    if (schema.type === 'boolean') return dice.oneIn(2)
    if (schema.type === 'null') return null
    return stringOf(schema, name)
  }

  function stringOf({ minLength = 0, maxLength = 64 }: JsonSchema, name: string): string {
    if (/client|user|owner|id$/.test(name) && !dice.oneIn(5)) return idFor(name)
    if (isTame && minLength <= 1) return dice.pick(['a', 'tcp', '127.0.0.1', '::1', 'env=prod']) ?? ''
    if (dice.oneIn(2))
      return String(dice.pick(['a', 'tcp', 'udp', '127.0.0.1', '::1', 'env=prod', '10.0.0.0/8']))
    const length = dice.pick([minLength - 1, minLength, maxLength, maxLength + 1, dice.size(14)]) ?? 0
    return String(dice.pick(['x', 'é', '\u{1f600}', '\u0001'])).repeat(Math.max(0, Math.min(length, 100_000)))
  }

  function listOf(
    { items = {}, minItems = 0, maxItems = 100 }: JsonSchema,
    name: string,
    depth: number
  ): unknown[] {
    const edge = dice.pick([minItems, maxItems, maxItems + 1, 1000]) ?? 0
    const length = dice.oneIn(12) ? Math.min(edge, depth > 1 ? 10 : 2000) : dice.below(4)
    const same = draw(items, name, depth + 1)
    return Array.from({ length }, () => (length > 10 ? same : draw(items, name, depth + 1)))
  }

  function numberOf({ minimum = 0, maximum = 65_536 }: JsonSchema, name: string): number {
    if (name.startsWith('listen_port')) return 20_000 + dice.below(1100)
    if (isTame) return Math.max(minimum, Math.min(maximum, dice.below(5_000)))
    return dice.pick([minimum, minimum - 1, maximum, maximum + 1, dice.below(65_536), maximum / 3]) ?? 0
  }

  const objectOf = ({ properties = {}, required = [] }: JsonSchema, depth: number): object =>
    Object.fromEntries(
      Object.entries(properties)
        .filter(([key]) => !dice.oneIn(required.includes(key) ? 50 : 2))
        .concat(dice.oneIn(40) ? [['surplus', {}]] : [])
        .map(([key, schema]) => [key, draw(schema, key, depth + 1)])
    )

  return draw
}
