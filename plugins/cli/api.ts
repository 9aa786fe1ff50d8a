import { type ErrorCode, Fault, internal, serverUnreachable, wrongUsage } from '../../kernel/base/errors.ts'
import type { Api } from '../../kernel/cli/command.ts'

interface Options {
  readonly origin: string
  readonly token: string | undefined
  readonly codes: readonly ErrorCode[]
  readonly plainHttp: 'refused' | 'allowed' // to another host
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
}

export interface CliApi extends Api {
  /** Returns the response; throws a Fault for an error response. */
  request(method: string, path: string, parts?: RequestParts): Promise<Response>
}

/** Calls the operator API with fetch. Token '': the request has another secret. */
export function openApi({ origin, token, codes, plainHttp }: Options): CliApi {
  const codesByName = new Map(codes.map(row => [row.code, row]))

  async function request(
    method: string,
    path: string,
    { body, headers: extra }: RequestParts = {}
  ): Promise<Response> {
    const url = urlOf(path, origin)
    if (token !== undefined && plainHttp === 'refused' && isExposed(url))
      throw new Fault(
        wrongUsage,
        `plain http to ${url.hostname} would expose the secret; use https, or allow it with --insecure-http`
      )
    const headers = {
      ...extra,
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' })
    }
    const reply = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) }).catch(
      (cause: unknown) => {
        throw new Fault(
          serverUnreachable,
          `no server answers at ${url.origin}; is it running? See SVC_SERVER`,
          {
            cause
          }
        )
      }
    )
    if (!reply.ok) throw refusalOf(reply.status, await reply.text(), codesByName)
    return reply
  }

  return {
    request,
    get: async <T>(path: string) => read<T>(await request('GET', path)),
    send: async <T>(method: string, path: string, body?: object) =>
      read<T>(await request(method, path, { body })),
    async list<T>(path: string) {
      const all: T[] = []
      for (let next: string | undefined = path; next !== undefined; ) {
        const reply: Response = await request('GET', next)
        all.push(...(await read<T[]>(reply)))
        next = /<([^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1]
      }
      return all
    }
  }
}

async function read<T>(reply: Response): Promise<T> {
  const text = await reply.text()
  return (text === '' ? undefined : JSON.parse(text)) as T // checked by the server's own schemas
}

function refusalOf(status: number, text: string, codes: ReadonlyMap<string, ErrorCode>): Fault {
  const { error } = parse(text) as ErrorBody
  const row = codes.get(error?.code ?? '') ?? { code: error?.code ?? internal.code, http: status, exit: 1 }
  const message = error?.message ?? `status ${status} with a body that is not from a sluice server`
  return new Fault(row, message, error?.details && { details: error.details })
}

/** Returns the origin of the operator API for a command. */
export const originIn = (given: unknown, env: Readonly<Record<string, string | undefined>>): string =>
  String(given ?? env['SVC_SERVER'] ?? 'http://127.0.0.1:7080')

function urlOf(path: string, origin: string): URL {
  try {
    return new URL(path, origin)
  } catch (cause) {
    throw new Fault(wrongUsage, `${origin} is not an origin; give http://HOST:PORT or https://HOST`, {
      cause
    })
  }
}

const isExposed = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

function parse(text: string): object {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {} // not JSON, for example the error page of a proxy
  }
}
