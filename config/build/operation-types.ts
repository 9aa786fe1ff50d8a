// Writes kernel/platform/api/operator-api.ts, the API types for commands and the console: an entry for each operation
// of the OpenAPI document, and a type for each named schema. npm run types
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openapiDocument } from './openapi.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly prefixItems?: readonly Schema[]
  readonly additionalProperties?: boolean | Schema
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema?: Schema
}

interface Operation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

export interface OpenapiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters?: Readonly<Record<string, Parameter>>
  }
}

/** Returns a module with the type `Operations` and the types of the named schemas. */
export function operationTypes(document: OpenapiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      entryOf(`${method.toUpperCase()} ${path}`, operation, document)
    )
  )
  const schemas = Object.entries(document.components.schemas)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `type ${name} = ${typeOf(schema, '\n  ')}`)
  return [
    '// Made from the OpenAPI document by npm run types.',
    `export interface Operations {\n${operations.toSorted().join('\n')}\n}`,
    ...schemas
  ]
    .join('\n\n')
    .concat('\n')
}

function entryOf(name: string, operation: Operation, { components }: OpenapiDocument): string {
  const parameters = (operation.parameters ?? []).map(one =>
    '$ref' in one ? (components.parameters?.[lastOf(one.$ref)] as Parameter) : one
  )
  const body = operation.requestBody?.content['application/json']?.schema
  const bodyMark = operation.requestBody?.required === true ? '' : '?'
  const parts = [
    ...parametersIn('path', parameters),
    ...parametersIn('query', parameters),
    ...(body ? [`body${bodyMark}: ${typeOf(body)}`] : [])
  ]
  const ok = operation.responses['200']?.content
  const created = operation.responses['201']?.content
  const reply = (ok?.['application/json'] ?? created?.['application/json'])?.schema
  const isOptional = reply !== undefined && operation.responses['204'] !== undefined
  const replyType = reply ? `${typeOf(reply)}${isOptional ? ' | undefined' : ''}` : 'undefined'
  const event = ok?.['text/event-stream']?.schema
  return [
    `  '${name}': {`,
    ...(parts.length > 0 ? [`    parts: { ${parts.join('; ')} }`] : []),
    `    reply: ${replyType}`,
    ...(event ? [`    event: ${typeOf(event)}`] : []),
    '  }'
  ].join('\n')
}

function parametersIn(place: 'path' | 'query', all: readonly Parameter[]): string[] {
  const own = all.filter(parameter => parameter.in === place)
  if (own.length === 0) return []
  const isRequired = own.some(({ required }) => required === true)
  const properties = own.map(({ name, required, schema }) => property(name, required === true, schema ?? {}))
  return [`${place}${isRequired ? '' : '?'}: { ${properties.join('; ')} }`]
}

const property = (name: string, isRequired: boolean, schema: Schema): string =>
  `${/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`}${isRequired ? '' : '?'}: ${typeOf(schema)}`

const lastOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1)

/** `between` separates the properties of an object: a line each, or all on one. */
function typeOf(schema: Schema, between = '; '): string {
  if (schema.$ref !== undefined) return lastOf(schema.$ref)
  if (schema.enum) return unionOf(schema.enum.map(literal))
  if ('const' in schema) return literal(schema.const)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return unionOf(alternatives.map(one => typeOf(one)))
  if (schema.allOf) return schema.allOf.map(one => `(${typeOf(one)})`).join(' & ')
  if (typeof schema.type === 'object') return unionOf(schema.type.map(type => typeOf({ ...schema, type })))
  if (schema.type === 'object') return objectOf(schema, between)
  if (schema.prefixItems) return `[${schema.prefixItems.map(one => typeOf(one)).join(', ')}]`
  if (schema.type === 'array') return `(${typeOf(schema.items ?? {})})[]`
  return simple[schema.type ?? ''] ?? 'unknown'
}

const simple: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null'
}

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll(/['\\]/g, '\\$&')}'` : JSON.stringify(value)

const unionOf = (types: readonly string[]): string => [...new Set(types)].join(' | ')

function objectOf(
  { properties = {}, required = [], additionalProperties = true }: Schema,
  between: string
): string {
  const own = Object.entries(properties).map(([name, one]) => property(name, required.includes(name), one))
  if (own.length === 0)
    return additionalProperties === false ? 'object' : `Record<string, ${additionalOf(additionalProperties)}>`
  const start = between === '; ' ? ' ' : between
  const end = between === '; ' ? ' ' : '\n'
  return `{${start}${own.join(between)}${end}}`
}

const additionalOf = (additional: true | Schema): string =>
  additional === true ? 'unknown' : typeOf(additional)

const operationTypesFile = join(import.meta.dirname, '..', '..', 'kernel/platform/api/operator-api.ts')

if (import.meta.main) {
  const document = (await openapiDocument()) as OpenapiDocument
  writeFileSync(operationTypesFile, operationTypes(document))
  const count = Object.values(document.paths).flatMap(methods => Object.keys(methods)).length
  process.stdout.write(`wrote the types of ${count} operations to kernel/platform/api/operator-api.ts\n`)
}
