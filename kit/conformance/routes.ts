// Checks the schemas of routes. A server uses most of them only at the first request.
import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { reasonOf } from '../../kernel/base/errors.ts'
import type { Route } from '../../kernel/http/route.ts'
import type { Kernel, Plugin } from '../../kernel/plugin.ts'

export const nameOf = ({ method, url }: Pick<Route<Kernel>, 'method' | 'url'>): string => `${method} ${url}`

/** Returns the problems of the plugin's routes. `codes` are the error codes of all plugins. */
export const routeProblems = (plugin: Plugin, { filled }: Kernel, codes: ReadonlySet<string>): string[] =>
  (plugin.routes ?? []).flatMap(route => {
    const { body, query, params, reply } = route.schema(filled)
    const parts = { body, query, params, reply }
    const found = [
      ...Object.entries(parts).flatMap(([part, schema]) => partProblems(part, schema, codes)),
      ...(body !== undefined && route.method === 'GET'
        ? ['a GET has no body; make it part of the query']
        : []),
      ...paramProblems(route.url, params)
    ]
    return found.map(problem => `${nameOf(route)}: ${problem}`)
  })

function partProblems(part: string, schema: TSchema | undefined, codes: ReadonlySet<string>): string[] {
  if (schema === undefined) return []
  const found = nodeProblems(schema, part, codes)
  try {
    Compile(schema)
  } catch (error) {
    found.push(`${part}: ${reasonOf(error)}`)
  }
  return found
}

const types = [
  'array',
  'bigint',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
  'undefined',
  'void'
]

/** Reports misspelled types and properties without a schema, because they accept everything. */
function nodeProblems(schema: TSchema, at: string, codes: ReadonlySet<string>): string[] {
  if (typeof schema !== 'object' || schema === null) return [`${at} is no schema`]
  const { type, code } = schema as Readonly<Record<string, unknown>>
  const found: string[] = []
  if (typeof type === 'string' && !types.includes(type))
    found.push(`${at} has the type ${type}; it is to be one of ${types.join(', ')}`)
  if (typeof code === 'string' && !codes.has(code))
    found.push(`${at} names the code ${code}, which no plugin defines; add it to \`codes\``)
  const inner: [string, TSchema][] = [
    ...(Type.IsObject(schema) ? Object.entries(schema.properties) : []),
    ...(Type.IsArray(schema) ? [['[]', schema.items] as [string, TSchema]] : []),
    ...(Type.IsUnion(schema) ? schema.anyOf.map((one, i): [string, TSchema] => [String(i), one]) : [])
  ]
  return [...found, ...inner.flatMap(([key, one]) => nodeProblems(one, `${at}/${key}`, codes))]
}

function paramProblems(url: string, params: TSchema | undefined): string[] {
  const inUrl = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const inSchema = params && Type.IsObject(params) ? Object.keys(params.properties) : []
  return [
    ...inUrl.filter(name => !inSchema.includes(name)).map(name => `params lack ${name}, which its url has`),
    ...inSchema
      .filter(name => !inUrl.includes(name))
      .map(name => `params have ${name}, which is not in its url`)
  ]
}
