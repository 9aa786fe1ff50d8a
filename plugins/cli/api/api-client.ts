import type { IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { Fault, serverUnreachable, wrongUsage } from '../../../kernel/base/errors.ts'
import type { Api } from '../../../kernel/cli/command.ts'
import { unreachableServer } from './unreachable-server.ts'

const timeoutMs = 300_000

interface Options {
  readonly origin: string
  readonly token: string | undefined
  readonly exitOf: (code: string) => Promise<number>
  readonly plainHttp: 'refused' | 'allowed' // to a host other than this one
  /** Returns the PEM certificates to trust instead of Node's. Called for https only. */
  readonly authorities?: () => string | undefined
}

interface ErrorBody {
  readonly error?: {
    readonly code?: string
    readonly message?: string
    readonly details?: Record<string, unknown>
  }
}

interface RequestParts {
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

interface Reply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

interface OperationParts {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface CliApi extends Api {
  /** Returns the response; throws a Fault for an error response. */
  request(method: string, path: string, parts?: RequestParts): Promise<Reply>
}

function openTransport({ origin, token, exitOf, plainHttp, authorities }: Options) {
  /** Resolves when the headers have arrived. The caller must read the body. */
  async function open(
    method: string,
    path: string,
    { body, headers: extra, signal }: RequestParts = {}
  ): Promise<IncomingMessage> {
    const url = urlOf(path, origin)
    if (token !== undefined && plainHttp === 'refused' && isExposed(url))
      throw new Fault(
        wrongUsage,
        `plain http to ${url.hostname} would expose the secret; use https or give --insecure-http`
      )
    const headers = {
      ...extra,
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' })
    }
    const ca = url.protocol === 'https:' ? authorities?.() : undefined
    const options = { method, headers, ...(signal && { signal }), ...(ca !== undefined && { ca }) }
    return send(url, options, body && JSON.stringify(body)).catch(failed(path))
  }

  const failed = (path: string) => (cause: unknown) => {
    throw unreachableServer(urlOf(path, origin), cause)
  }

  async function request(method: string, path: string, parts?: RequestParts): Promise<Reply> {
    const response = await open(method, path, parts)
    const reply = await replyOf(response).catch(failed(path))
    if (reply.status >= 300) throw await refusalOf(reply, exitOf)
    return reply
  }

  /** Ends when the server ends the stream or the signal aborts. */
  async function* events(operation: string, parts: OperationParts, signal: AbortSignal) {
    const { method, url } = requestOf(operation, parts)
    try {
      const response = await open(method, url, { signal })
      if ((response.statusCode ?? 0) >= 300) throw await refusalOf(await replyOf(response), exitOf)
      const { readEvents } = await import('./event-stream.ts')
      yield* readEvents(response.setEncoding('utf8'))
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Fault) throw error
      failed(url)(error)
    }
  }

  return { request, events }
}

/** A token of '' sends no token, but secrets still need https. */
export function openApiClient(options: Options): CliApi {
  const { origin, exitOf } = options
  const { request, events } = openTransport(options)

  async function list<T>(path: string): Promise<T[]> {
    const all: T[] = []
    for (let next: string | undefined = path; next !== undefined; ) {
      const reply: Reply = await request('GET', next)
      const rows = bodyOf<unknown>(reply)
      if (!Array.isArray(rows)) throw foreign(reply)
      all.push(...(rows as T[]))
      next = /<([^>]+)>; rel="next"/.exec(String(reply.headers['link'] ?? ''))?.[1]
    }
    return all
  }

  const typed: object = {
    origin,
    events,
    async call(operation: string, parts: OperationParts = {}) {
      const { method, url } = requestOf(operation, parts)
      const { body, headers = {} } = parts
      return bodyOf<unknown>(await request(method, url, { body, headers }))
    },
    rows: (operation: string, parts?: OperationParts) => list(requestOf(operation, parts).url),
    refusal: (status: number, error: object) =>
      refusalOf({ status, headers: {}, text: JSON.stringify({ error }) }, exitOf)
  }

  return {
    ...(typed as Pick<Api, 'call' | 'rows' | 'refusal' | 'events' | 'origin'>), // operations.ts declares their types
    request,
    get: async <T>(path: string) => bodyOf<T>(await request('GET', path)),
    send: async <T>(method: string, path: string, body?: object) =>
      bodyOf<T>(await request(method, path, { body })),
    list
  }
}

/** Fills in the path of an operation. Omits query parameters without a value. */
function requestOf(operation: string, { path = {}, query = {} }: OperationParts = {}) {
  const [method = '', template = ''] = operation.split(' ')
  const url = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''))
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]]
  )
  const params = new URLSearchParams(given as [string, string][]).toString()
  return { method, url: params === '' ? url : `${url}?${params}` }
}

async function send(url: URL, options: object, body: string | undefined): Promise<IncomingMessage> {
  // Neither fetch nor an import of node:http, which loads fetch too: that is half of a command's start time.
  const { request: open } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  const request = open(url, { ...options, timeout: timeoutMs })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request.on('response', resolve).on('error', reject)
  request.on('timeout', () => request.destroy(new Error(`no data for ${timeoutMs / 1000} s`)))
  request.end(body)
  return promise
}

const replyOf = async (response: IncomingMessage): Promise<Reply> => ({
  status: response.statusCode ?? 0,
  headers: response.headers,
  text: await textOf(response)
})

/** Throws if the body is not JSON. Otherwise the server's schemas have validated it. */
function bodyOf<T>(reply: Reply): T {
  try {
    return (reply.text === '' ? undefined : JSON.parse(reply.text)) as T
  } catch (cause) {
    throw foreign(reply, { cause })
  }
}

/** Returns the error of a response that comes from another program, such as a proxy. */
const foreign = ({ status }: Reply, options: ErrorOptions = {}): Fault =>
  new Fault(
    serverUnreachable,
    `status ${status} with a body that is not from a sluice server: check --server or SVC_SERVER`,
    options
  )

async function refusalOf({ status, headers, text }: Reply, exitOf: Options['exitOf']): Promise<Fault> {
  const { error } = parse(text) as ErrorBody
  const code = error?.code ?? serverUnreachable.code
  const row = { code, http: status, exit: await exitOf(code) }
  const redirect =
    status < 400 && headers.location !== undefined ? `; it redirects to ${headers.location}` : ''
  const message = error?.message ?? `status ${status} with a body that is not from a sluice server${redirect}`
  return new Fault(row, message, error?.details && { details: error.details })
}

/** Returns the address of the operator API: the given one, else SVC_SERVER, else the default. */
export const originIn = (given: unknown, env: Readonly<Record<string, string | undefined>>): string =>
  String(given ?? env['SVC_SERVER'] ?? 'http://127.0.0.1:7080')

/** Returns the URL of a path of the API. A server behind a proxy can have a path: https://HOST/sluice. */
function urlOf(path: string, server: string): URL {
  const { origin, pathname, username, password, search, hash } = parseServer(server)
  if (username !== '' || password !== '')
    throw new Fault(
      wrongUsage,
      'the address of the server has a user or a password: use SVC_TOKEN or sluice login'
    )
  if (search !== '' || hash !== '')
    throw new Fault(
      wrongUsage,
      `${origin}${pathname} has a query or a fragment after it: give http://HOST:PORT or https://HOST/PATH`
    )
  return new URL(origin + pathname.replace(/\/+$/, '') + path)
}

function parseServer(server: string): URL {
  const url = URL.parse(server)
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new Fault(
    wrongUsage,
    `${server} is not the address of a server: give http://HOST:PORT or https://HOST/PATH`
  )
}

const isExposed = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

function parse(text: string): object {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {} // not JSON, such as the error page of a proxy
  }
}
