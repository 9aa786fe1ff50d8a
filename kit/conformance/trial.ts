// Calls the routes of a plugin once, with the examples of their schemas.
import { Errors } from 'typebox/value'
import type { Route, Schemas } from '../../kernel/http/route.ts'
import type { Server } from '../../kernel/kernel.ts'
import type { Kernel, Plugin } from '../../kernel/plugin.ts'
import type { LogLine } from '../record-log.ts'
import { nameOf } from './routes.ts'
import { sampleOf } from './samples.ts'

export interface Trial {
  readonly problems: readonly string[]
  /** The routes that were not called or refused the call, each with the reason. */
  readonly notes: readonly string[]
}

export interface Surroundings {
  readonly server: Server
  readonly token: string | null // the operator's; null: none
  readonly log: readonly LogLine[]
}

const order = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE']

/** A path parameter without an example gets the value of that name in an earlier reply. */
export async function tryRoutes({ name, routes = [] }: Plugin, around: Surroundings): Promise<Trial> {
  const [problems, notes]: [string[], string[]] = [[], []]
  const known: Record<string, unknown> = {}
  const { filled } = around.server.depsOf(name)
  const sorted = routes
    .filter(({ isStream }) => !isStream)
    .sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method))
  for (const route of sorted) {
    const request = requestOf(route.schema(filled), known)
    if ('lacking' in request)
      notes.push(`${nameOf(route)} was not called: ${request.lacking} has no examples`)
    else if ('wrong' in request) problems.push(`${nameOf(route)}: its examples do not fit: ${request.wrong}`)
    else {
      const { status, text } = await send(route, request, around)
      if (status === 500) problems.push(`${nameOf(route)}: it fails: ${failureIn(around.log)}`)
      else if (status >= 400) notes.push(`${nameOf(route)} refuses its examples: ${status} ${text}`)
      else if (route.reply === undefined && status !== 204) Object.assign(known, JSON.parse(text))
    }
  }
  return { problems, notes }
}

interface Request {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

type Known = Readonly<Record<string, unknown>>

function requestOf(
  schemas: Schemas,
  known: Known
): Request | { readonly lacking: string } | { readonly wrong: string } {
  const values: Record<string, unknown> = {}
  for (const part of ['params', 'query', 'body'] as const) {
    const schema = schemas[part]
    const sample = sampleOf(schema, part, part === 'params' ? known : {})
    if ('lacking' in sample) return sample
    const [error] = schema === undefined ? [] : Errors(schema, sample.value)
    if (error) return { wrong: `${part}${error.instancePath} ${error.message}` }
    values[part] = sample.value
  }
  return { params: values['params'], query: values['query'], body: values['body'] }
}

async function send(
  { method, url }: Route<Kernel>,
  { params, query, body }: Request,
  around: Surroundings
): Promise<Answer> {
  const path = url.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(textOf(params, name)))
  const texts = Object.keys(query ?? {}).map(name => [name, textOf(query, name)])
  return call(around, { method, url: path, query: Object.fromEntries(texts), body })
}

export interface Answer {
  readonly status: number
  readonly text: string
}

interface Called {
  readonly method: Route<Kernel>['method']
  readonly url: string
  readonly query?: Record<string, string>
  readonly body?: unknown
}

/** Sends a request. */
export async function call(
  { server, token }: Surroundings,
  { method, url, query = {}, body }: Called
): Promise<Answer> {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  const payload = body instanceof Object ? { payload: body } : {}
  const reply = await server.http.app.inject({ method, url, query, headers, ...payload })
  return { status: reply.statusCode, text: reply.body }
}

const textOf = (values: unknown, name: string): string => String((values as Known)[name])

/** Returns the errors that built-in routes or those of the plugin gave and do not declare. */
export const undeclaredErrors = (log: readonly LogLine[]): string[] =>
  log
    .filter(({ event }) => event === 'route.undeclared_error')
    .map(
      ({ fields: { action, code } }) =>
        `${String(action)} gave the error ${String(code)}, which it does not declare; declare it in \`errors\` of the route, field or step that throws it`
    )

/** Returns the error and its source line from the latest `request.failed` event. */
export function failureIn(log: readonly LogLine[]): string {
  const line = log.findLast(({ event }) => event === 'request.failed')
  return String(line?.fields['error']).split('\n').slice(0, 2).join('')
}
