// Calls the API with the session of the browser. The types come from the OpenAPI document.
import type { QueryFunction } from '@tanstack/react-query'
import type { Arguments, Found, Name, ReplyTo } from '../../../../kernel/platform/api/operations.ts'
import type { ConsoleApi } from '../../slots.ts'
import { ApiError, readError } from './api-error.ts'
import { askConfirmation } from './confirmation.ts'
import { reportAnswer, reportLoss } from './reachability.ts'
import { sessionKeyHeader } from './session-key.ts'

export type Reply<N extends Name> = ReplyTo<Found<N>>
export type Row<N extends Name> = Reply<N> extends readonly (infer R)[] ? R : never

interface RequestParts {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const partsIn = ([parts = {}]: readonly unknown[]): RequestParts => parts as RequestParts // checked by the types of the caller

/** Sends the request of an operation, such as 'POST /v1/rules'. Throws ApiError. */
export const call = <N extends Name>(operation: N, ...parts: Arguments<N>): Promise<Reply<N>> =>
  readOne(operation, partsIn(parts)) as Promise<Reply<N>>

/** Reads all pages of a list, at most `maxRows`. */
export const rows = <N extends Name>(operation: N, ...parts: Arguments<N>): Promise<readonly Row<N>[]> =>
  readAll(operation, partsIn(parts)) as Promise<readonly Row<N>[]>

/** A `queryFn` for long lists: shows the first rows while it reads the rest. */
export const growingRows =
  <N extends Name>(operation: N, ...parts: Arguments<N>): QueryFunction<readonly Row<N>[]> =>
  ({ client, queryKey, signal }) => {
    const isFirst = client.getQueryData(queryKey) === undefined
    const show = (found: readonly unknown[]): void => {
      if (isFirst && !signal.aborted) client.setQueryData(queryKey, [...found])
    }
    return readAll(operation, partsIn(parts), show) as Promise<readonly Row<N>[]>
  }

/** For elements of plugins. The types of their routes are unknown here. */
export const untypedApi: ConsoleApi = {
  call: (method, path, body) => readOne(`${method} ${path}`, { body }),
  list: path => readAll(`GET ${path}`, {})
}

async function readOne(operation: string, parts: RequestParts): Promise<unknown> {
  const response = await send(operation, parts)
  return response.status === 204 ? undefined : response.json()
}

async function readAll(
  operation: string,
  given: RequestParts,
  onPart: (found: readonly unknown[]) => void = () => {}
): Promise<readonly unknown[]> {
  const found: unknown[] = []
  let request: RequestParts = { ...given, query: { limit: firstRows, ...given.query } }
  while (found.length < maxRows) {
    const response = await send(operation, request)
    found.push(...((await response.json()) as unknown[]))
    const cursor = cursorIn(response.headers.get('link'))
    if (cursor === null) break
    onPart(found)
    request = { ...given, query: { limit: pageRows, ...given.query, cursor } }
  }
  return found
}
const firstRows = 200 // more than fit on a screen
const pageRows = 1000
export const maxRows = 50_000 // what a browser can hold; tables say when a list is cut

const cursorIn = (link: string | null): string | null => {
  const [, next] = /<([^>]+)>;\s*rel="?next"?/.exec(link ?? '') ?? []
  return next === undefined ? null : new URL(next, location.origin).searchParams.get('cursor')
}

/** A record with its ETag, for the If-Match header of a change. */
export interface Versioned<T> {
  readonly value: T
  readonly etag: string
}

export async function versioned<N extends Name>(
  operation: N,
  ...parts: Arguments<N>
): Promise<Versioned<Reply<N>>> {
  const response = await send(operation, partsIn(parts))
  return { value: (await response.json()) as Reply<N>, etag: response.headers.get('etag') ?? '*' }
}

/** Sends the request. If it needs a fresh session, asks the user for a proof, then repeats it. */
async function send(operation: string, parts: RequestParts): Promise<Response> {
  const response = await sendOnce(operation, parts)
  if (response.ok) return response
  const error = await readError(response)
  if (error.code === 'reauthentication_required' && (await askConfirmation())) return send(operation, parts)
  throw error
}

async function sendOnce(
  operation: string,
  { path = {}, query = {}, body, headers = {} }: RequestParts
): Promise<Response> {
  const [method = 'GET', pattern = '/'] = operation.split(' ')
  const url = new URL(
    pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? '')),
    location.origin
  )
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, String(value))
  return reach(url, {
    method,
    headers: {
      ...sessionKeyHeader(),
      ...(method !== 'GET' && { 'x-svc-csrf': '1' }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers
    },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
}

async function reach(url: URL, request: RequestInit): Promise<Response> {
  const since = Date.now()
  try {
    const response = await fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) })
    reportAnswer()
    return response
  } catch (cause) {
    reportLoss(since)
    throw new ApiError('the server does not respond', {
      status: 0,
      code: 'server_unreachable',
      details: { cause }
    })
  }
}
const timeoutMs = 95_000 // the server gives a route 90 s
