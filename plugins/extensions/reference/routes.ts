import type { Plugin } from '../../../kernel/plugin.ts'
import { type Found, operationsOf } from './document.ts'
import { type Field, fieldOf, fieldsOf, type Schema } from './fields.ts'
import { type Chapter, code, fieldsTable } from './markdown.ts'
import type { Preview } from './preview.ts'

const whoMay: Readonly<Record<string, string>> = {
  public: 'Anybody may call it.',
  user: 'Every user may call it, for what is theirs.',
  superadmin: 'Superadmins may call it.'
}

/** As the OpenAPI document has them. */
export const routesOf = ({ name, routes = [] }: Plugin, { document }: Preview): Chapter[] =>
  operationsOf(document, name).map(found => {
    const route = routes.find(({ action }) => action === found.operation.operationId)
    const said = `${found.operation.summary} ${whoMay[route?.access ?? ''] ?? ''}`
    const parts = [...askedOf(found), ...answeredBy(found)].filter(text => text !== '')
    return { title: code(`${found.method} ${found.path}`), text: [said, ...parts].join('\n\n') }
  })

function askedOf({ operation: { parameters = [], requestBody } }: Found): string[] {
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

/** The page says them once, for all lists. */
const pageParameters = { limit: '', cursor: '' }

function answeredBy({ operation: { responses } }: Found): string[] {
  return Object.entries(responses)
    .filter(([status]) => status !== 'default')
    .flatMap(([status, { content = {} }]) => {
      const [[media, { schema }] = ['', { schema: {} as Schema }]] = Object.entries(content)
      const fields = fieldsOf(schema).map(field => ({
        ...field,
        given: field.given === 'optional' ? 'may be absent' : ''
      }))
      return [`Answers ${status}${wordOf(media, schema)}.`, fieldsTable(fields, 'In the answer')]
    })
}

function wordOf(media: string, { items }: Schema): string {
  if (media === '') return ', and no body'
  if (media !== 'application/json') return `, as ${media}`
  return items ? ', a list' : ''
}
