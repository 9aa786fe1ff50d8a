// Judges responses by the OpenAPI document of a server: their status, error code and body.
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly allOf?: readonly JsonSchema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly examples?: readonly unknown[]
}

export interface Parameter {
  readonly in: string
  readonly name: string
  readonly schema: JsonSchema
}

export interface Operation {
  readonly method: string
  readonly url: string // '/v1/rules/{rule_id}'
  readonly parameters: readonly Parameter[] // of path and query
  readonly body: JsonSchema | null
  readonly isStream: boolean
  /** Returns the reason why the document does not allow a response, or null. `body`: the raw text. `type`: its media type. */
  faultOf(status: number, body: string, type?: string): string | null
}

interface Response {
  readonly $ref?: string
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}

interface Described {
  readonly parameters?: readonly Partial<Parameter>[] // a reference lacks all
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
  readonly responses: Readonly<Record<string, Response>>
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, Response>>
  }
}

const json = 'application/json'

/** Returns all operations, with references replaced by their schemas. */
export function listOperations({ paths, components }: ApiDocument): Operation[] {
  const inline = openInline(components.schemas)
  const responseOf = (found: Response): Response =>
    found.$ref === undefined ? found : (components.responses[lastOf(found.$ref)] ?? {})

  return Object.entries(paths).flatMap(([url, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]): Operation => {
      const bodySchema = requestBody?.content[json]?.schema
      const isSchemaOf = new Map<string, ReturnType<typeof Compile>>()
      return {
        method: method.toUpperCase(),
        url,
        parameters: parameters.flatMap(({ in: place = '', name = '', schema }) =>
          schema ? [{ in: place, name, schema: inline(schema) }] : []
        ),
        body: bodySchema ? inline(bodySchema) : null,
        isStream: 'text/event-stream' in (responses['200']?.content ?? {}),
        faultOf(status, body, type) {
          const response = responses[status]
          if (!response) return `status ${status} is not documented`
          const { content } = responseOf(response)
          if (content && type !== undefined && !content[type])
            return `status ${status} is documented, but not with ${type}`
          const schema = content?.[json]?.schema
          if (!schema || (type ?? json) !== json) return null
          const validator = isSchemaOf.get(String(status)) ?? Compile(inline(schema) as TSchema)
          isSchemaOf.set(String(status), validator)
          if (isJson(body) && validator.Check(JSON.parse(body))) return null
          return `status ${status} is documented, but not this body: ${body.slice(0, 300)}`
        }
      }
    })
  )
}

function isJson(body: string): boolean {
  try {
    JSON.parse(body)
    return true
  } catch {
    return false
  }
}

/** Returns a function that replaces references. The schemas of the API are not recursive. */
function openInline(named: Readonly<Record<string, JsonSchema>>) {
  const known = new Map<string, JsonSchema>()
  const inline = (schema: JsonSchema): JsonSchema => {
    const { $ref, properties, items, anyOf, allOf, ...rest } = schema
    if ($ref !== undefined) {
      const found = known.get($ref) ?? inline(named[lastOf($ref)] ?? {})
      known.set($ref, found)
      return found
    }
    const parts = Object.entries(properties ?? {}).map(([key, part]) => [key, inline(part)])
    return {
      ...rest,
      ...(properties && { properties: Object.fromEntries(parts) }),
      ...(items && { items: inline(items) }),
      ...(anyOf && { anyOf: anyOf.map(inline) }),
      ...(allOf && { allOf: allOf.map(inline) })
    }
  }
  return inline
}

const lastOf = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1)
