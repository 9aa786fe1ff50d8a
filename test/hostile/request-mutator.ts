// Generates requests from the OpenAPI document of a server, with values at and beyond their bounds.
import type { SeededRandom } from '../bench/soak/seeded-random.ts'
import type { Target } from './target.ts'

export interface Operation {
  readonly method: string
  readonly url: string // '/v1/rules/{rule_id}'
  readonly query: readonly string[]
  readonly body: Schema | null
}

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly enum?: readonly unknown[]
}

interface Described {
  readonly parameters?: readonly { readonly in?: string; readonly name?: string }[] // a reference lacks both
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Requests that would end the attack itself, or never end. */
const left = /logout|credentials|sessions|\/me\/password/

export async function operationsOf({ origin, tenant }: Target): Promise<Operation[]> {
  const headers = { authorization: `Bearer ${tenant.token}` }
  const reply = await fetch(`${origin}/v1/openapi.json`, { headers })
  const { paths, components } = (await reply.json()) as Document
  const inline = ({ $ref, properties, items, anyOf, ...rest }: Schema): Schema => {
    if ($ref !== undefined) return inline(components.schemas[$ref.split('/').at(-1) ?? ''] ?? {})
    const parts = Object.entries(properties ?? {}).map(([key, part]) => [key, inline(part)])
    return {
      ...rest,
      ...(properties && { properties: Object.fromEntries(parts) }),
      ...(items && { items: inline(items) }),
      ...(anyOf && { anyOf: anyOf.map(inline) })
    }
  }
  const bodyOf = ({ requestBody }: Described): Schema | null => {
    const schema = requestBody?.content['application/json']?.schema
    return schema ? inline(schema) : null
  }
  return Object.entries(paths).flatMap(([url, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      url,
      query: (operation.parameters ?? []).flatMap(({ in: place, name = '' }) =>
        place === 'query' ? [name] : []
      ),
      body: bodyOf(operation)
    }))
  )
}

export const isFuzzed = ({ method, url }: Operation): boolean =>
  !url.endsWith('/stream') && (method === 'GET' || !left.test(url))

const odd = [
  null,
  true,
  -1,
  0,
  1.5,
  2 ** 53,
  1e308,
  '',
  ' ',
  '\u0000',
  '../..',
  'é'.repeat(300),
  [],
  {},
  [[[]]]
]
const hugeBytes = 3 * 2 ** 20

export function mutator(dice: SeededRandom, { tenant, victim }: Target) {
  const ids = [
    ...victim.ruleIds,
    ...victim.clientIds,
    victim.userId,
    tenant.userId,
    'me',
    '_operator',
    '%00',
    'x'.repeat(5000)
  ]
  const idOrOdd = (): string => String(dice.pick(ids))

  function draw(schema: Schema, name = '', depth = 0): unknown {
    if (dice.oneIn(12)) return dice.pick(odd)
    if (schema.enum) return dice.pick(schema.enum)
    if (schema.anyOf) return draw(dice.pick(schema.anyOf) ?? {}, name, depth)
    if (schema.properties && depth < 6) return objectOf(schema.properties, depth)
    if (schema.type === 'array')
      return Array.from({ length: dice.below(4) }, () => draw(schema.items ?? {}, name, depth + 1))
    if (schema.type === 'integer' || schema.type === 'number') return numberOf(schema, name)
    if (schema.type === 'boolean') return dice.oneIn(2)
    return /client|user|owner|id$/.test(name)
      ? idOrOdd()
      : dice.pick(['a', 'tcp', 'udp', '127.0.0.1', 'x'.repeat(dice.size(14))])
  }

  function numberOf({ minimum = 0, maximum = 65_536 }: Schema, name: string): number | undefined {
    if (name.startsWith('listen_port')) return 20_000 + dice.below(1100)
    return dice.pick([minimum, minimum - 1, maximum, maximum + 1, dice.below(65_536)])
  }

  const objectOf = (properties: Readonly<Record<string, Schema>>, depth: number): object =>
    Object.fromEntries(
      Object.entries(properties)
        .filter(() => !dice.oneIn(5))
        .concat(dice.oneIn(20) ? [['surplus', {}]] : [])
        .map(([key, schema]) => [key, draw(schema, key, depth + 1)])
    )

  return {
    pathOf: ({ url }: Operation): string => url.replaceAll(/\{\w+\}/g, idOrOdd),
    queryOf({ query }: Operation): string {
      const given = query
        .filter(() => dice.oneIn(2))
        .map((name): [string, string] => [name, dice.oneIn(2) ? idOrOdd() : String(dice.pick(odd))])
      return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
    },
    /** Returns undefined for a request without a body. */
    bodyOf({ method, body }: Operation): string | undefined {
      if (method === 'GET') return undefined
      if (dice.oneIn(200)) return JSON.stringify('x'.repeat(hugeBytes))
      if (dice.oneIn(30))
        return dice.pick(['{', '[]', 'null', '{"a":'.repeat(5000), '{"__proto__":{"role":"superadmin"}}'])
      return body === null ? undefined : JSON.stringify(draw(body))
    }
  }
}
