// Of the OpenAPI document, what the reference reads.
import type { Schema } from './fields.ts'

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[] // its plugin's name
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>
}

interface Parameter {
  readonly in: 'path' | 'query' | 'header'
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

export interface Found {
  readonly method: string // 'GET'
  readonly path: string // '/v1/rules/{rule_id}'
  readonly operation: Operation
}

export const operationsOf = ({ paths }: Document, plugin: string): Found[] =>
  Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation
      }))
    )
    .filter(({ operation }) => operation.tags.includes(plugin))
