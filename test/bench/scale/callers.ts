// Callers of the API, in a separate process.
import { Agent, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { serveOrders } from './processes.ts'

export interface Load {
  readonly origin: string
  readonly token: string
  readonly method: string
  readonly path: string // `$i`: number of the call; `$c`: number of the caller, from 0
  readonly body: string | null
  readonly from: number // the first number
  readonly calls: number | null // null: until the order to stop
  readonly callers: number
  readonly restMs?: number // pause of each caller after each call
}
export type CallersOrder = { readonly begin: Load } | { readonly end: 'done' | 'now' }

export interface LoadResult {
  readonly ms: number // elapsed time of all calls
  readonly waits: readonly number[] // ms of each call
  readonly refused: Readonly<Record<string, number>> // by status and code
}

function begin({ origin, token, method, path, body, from, calls, callers, restMs = 0 }: Load) {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const waits: number[] = []
  const refused: Record<string, number> = {}
  let isStopped = false

  async function call(number: number, caller: number): Promise<void> {
    const began = performance.now()
    const sent = body?.replaceAll('$i', String(number))
    const headers = {
      authorization: `Bearer ${token}`,
      ...(sent !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(sent)
      })
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const called = path.replaceAll('$i', String(number)).replaceAll('$c', String(caller))
    request(new URL(called, origin), { method, agent, headers }, reply => {
      const { statusCode = 0 } = reply
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('end', () => {
        waits.push(performance.now() - began)
        if (statusCode >= 300 && statusCode !== 304) {
          const [, code = ''] = /"code":"([\w.]+)/.exec(Buffer.concat(chunks).toString()) ?? []
          refused[`${statusCode} ${code}`] = (refused[`${statusCode} ${code}`] ?? 0) + 1
        }
        resolve()
      })
    })
      .on('error', reject)
      .end(sent)
    await promise
  }

  let next = from
  const began = performance.now()
  const done = Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      if (restMs > 0) await setTimeout((restMs * caller) / callers) // spreads the start of callers that pause
      while (!isStopped && (calls === null || next < from + calls)) {
        await call(next++, caller)
        if (restMs > 0) await setTimeout(restMs)
      }
    })
  )
  return async (when: 'done' | 'now'): Promise<LoadResult> => {
    if (when === 'now') isStopped = true
    await done
    agent.destroy()
    return { ms: performance.now() - began, waits, refused }
  }
}

let end: ((when: 'done' | 'now') => Promise<LoadResult>) | null = null
await serveOrders(async (order: CallersOrder) => {
  if ('begin' in order) {
    end = begin(order.begin)
    return {}
  }
  if (!end) throw new TypeError('no load has begun')
  return end(order.end)
})
