import type { Plugin } from '../../../kernel/plugin.ts'
import { callersOf } from '../../http/exports.ts'
import { type Field, fieldOf, fieldsOf, type Schema } from './fields.ts'
import { type Chapter, code, fieldsTable, table } from './markdown.ts'

/** The parts of the OpenAPI document that the reference needs. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[] // the plugin's name
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

interface Found {
  readonly method: string // 'GET'
  readonly path: string // '/v1/rules/{rule_id}'
  readonly operation: Operation
}

/** Returns a chapter for each route of the plugin. Pages and files are not in the OpenAPI document. */
export const routesOf = ({ name, routes = [] }: Plugin, document: Document): Chapter[] => {
  const found = operationsOf(document, name)
  return routes.map(route => {
    const { method, url, action, summary } = route
    const operation = found.find(({ operation }) => operation.operationId === action)
    const text = `${summary} Access: ${callersOf(route)}.`
    const parts = operation ? [...requestOf(operation), ...responsesOf(operation), errorsOf(operation)] : [] // a page or file
    const title = code(`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
    return { title, text: [text, ...parts.filter(part => part !== '')].join('\n\n') }
  })
}

function requestOf({ operation: { parameters = [], requestBody } }: Found): string[] {
  const inPlace = (place: string): Field[] =>
    parameters
      .filter(parameter => parameter.in === place && !(parameter.name in pageParameters))
      .map(({ name, schema, required = false, description }) =>
        fieldOf({
          path: name,
          part: { ...(description && { description }), ...schema },
          isRequired: required
        })
      )
  const body = requestBody?.content['application/json']?.schema
  return [
    fieldsTable(inPlace('path'), 'In the path'),
    fieldsTable(inPlace('query'), 'In the query'),
    body ? fieldsTable(fieldsOf(body), 'In the body') : ''
  ]
}

/** The top of the page describes these parameters once. */
const pageParameters = { limit: '', cursor: '' }

function responsesOf({ operation: { responses } }: Found): string[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([status, { content = {} }]) => {
      const first = Object.entries(content)[0]
      const media = first?.[0] ?? ''
      const schema = first?.[1].schema ?? {}
      const fields = fieldsOf(schema).map(field => ({
        ...field,
        given: field.given === 'optional' ? 'may be absent' : ''
      }))
      return [`Response ${status}${contentText(media, schema)}.`, fieldsTable(fields, 'In the response')]
    })
}

const errorsOf = ({ operation: { responses } }: Found): string =>
  table(
    ['Error', 'Codes'],
    Object.entries(responses)
      .filter(([status]) => !status.startsWith('2'))
      .map(([status, { description = '' }]) => [status, description.replace(/^[^:]*: |\.$/g, '')])
  )

function contentText(media: string, { items }: Schema): string {
  if (media === '') return ', without a body'
  if (media !== 'application/json') return `, as ${media}`
  return items ? ', a list' : ''
}

const operationsOf = ({ paths }: Document, plugin: string): Found[] =>
  Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation
      }))
    )
    .filter(({ operation }) => operation.tags.includes(plugin))
