import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { defineCode, Fault, reasonOf } from '../../kernel/base/errors.ts'

/** Exits with 1, as probes of containers expect. */
export const unhealthy = defineCode('unhealthy', 503, 1)

const timeoutMs = 4_000 // probes of containers give 5 s

interface Reply {
  readonly status?: string
  readonly checks?: Readonly<Record<string, { readonly status: string; readonly reason: string }>>
}

/** Asks a health page at the address of /metrics. Returns what a command prints. Throws Fault with the failed checks. */
export async function askHealth(listen: string, path: '/livez' | '/readyz'): Promise<[string, object]> {
  const url = new URL(path, `http://${listen}`)
  url.hostname = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }[url.hostname] ?? url.hostname
  const { status, body } = await get(url).catch((cause: unknown) => {
    throw new Fault(
      unhealthy,
      `no answer at ${url}: ${reasonOf(cause)}; does it run, with this metrics_listen?`,
      { cause }
    )
  })
  const reply = parse(body)
  const failed = Object.entries(reply.checks ?? {}).filter(([, check]) => check.status !== 'ok')
  if (status === 200 && reply.status !== undefined) return [`${url} says ${reply.status}`, reply]
  const why = failed.map(([name, { reason }]) => `${name}: ${reason}`).join('; ')
  throw new Fault(unhealthy, `${url} answers ${status}${why === '' ? '' : `: ${why}`}`)
}

async function get(url: URL): Promise<{ readonly status: number; readonly body: string }> {
  const { request: open } = process.getBuiltinModule('node:http') // loads faster than fetch
  const headers = { host: 'localhost' } // a name of this host may not be one of operator_http_hosts
  const request = open(url, { agent: false, timeout: timeoutMs, headers })
  request.once('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)))
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, body: await text(response) }
}

/** Another program may have the port. */
function parse(body: string): Reply {
  try {
    return Object(JSON.parse(body))
  } catch {
    return {}
  }
}
