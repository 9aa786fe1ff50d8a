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

interface More {
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export interface CliApi extends Api {
  /** The bare answer, when it is no refusal. */
  request(method: string, path: string, more?: More): Promise<Response>
}

/** The operator HTTP API over fetch. A token of '' stands for another secret, sent by the caller. */
export function openApi({ origin, token, codes, plainHttp }: Options): CliApi {
  const rows = new Map(codes.map(row => [row.code, row]))

  async function request(
    method: string,
    path: string,
    { body, headers: extra }: More = {}
  ): Promise<Response> {
    const url = urlOf(path, origin)
    if (token !== undefined && plainHttp === 'refused' && isExposed(url))
      throw new Fault(
        wrongUsage,
        `a secret over plain http to ${url.hostname} can be read on the way; use https or --insecure-http`
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
    if (!reply.ok) throw refusal(reply.status, await reply.text())
    return reply
  }

  function refusal(status: number, text: string): Fault {
    const { error } = parse(text) as ErrorBody
    const row = rows.get(error?.code ?? '') ?? { code: error?.code ?? internal.code, http: status, exit: 1 }
    const message = error?.message ?? `the server answered ${status}, and not as a sluice server does`
    return new Fault(row, message, error?.details && { details: error.details })
  }

  const read = async <T>(reply: Response): Promise<T> => {
    const text = await reply.text()
    return (text === '' ? undefined : JSON.parse(text)) as T // the server's own schemas have checked it
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

function urlOf(path: string, origin: string): URL {
  try {
    return new URL(path, origin)
  } catch (cause) {
    throw new Fault(wrongUsage, `${origin} is no origin; give http://HOST:PORT or https://HOST`, { cause })
  }
}

const isExposed = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

function parse(text: string): object {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {} // a proxy's page, not our envelope: the caller says so
  }
}
