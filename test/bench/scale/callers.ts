// Callers of the API in a process of their own. Takes a Load as its argument, prints a Took.
import { Agent, request } from 'node:http'

export interface Load {
  readonly origin: string
  readonly token: string
  readonly method: string
  readonly path: string // `$i`: the number of the call
  readonly body: string | null
  readonly from: number // the first number
  readonly calls: number
  readonly callers: number
}

export interface Took {
  readonly ms: number // of the clock, for all
  readonly waits: readonly number[] // ms of each call
  readonly refused: Readonly<Record<string, number>> // by status and code
}

const load = JSON.parse(process.argv[2] ?? '') as Load
const { origin, token, method, path, body, from, calls, callers } = load
const agent = new Agent({ keepAlive: true, maxSockets: callers })
const waits: number[] = []
const refused: Record<string, number> = {}

async function call(number: number): Promise<void> {
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
  request(new URL(path.replaceAll('$i', String(number)), origin), { method, agent, headers }, reply => {
    const { statusCode = 0 } = reply
    const chunks: Buffer[] = []
    reply.on('data', (chunk: Buffer) => chunks.push(chunk))
    reply.on('end', () => {
      waits.push(performance.now() - began)
      if (statusCode >= 300) {
        const [, code = ''] = /"code":"(\w+)/.exec(Buffer.concat(chunks).toString()) ?? []
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
await Promise.all(
  Array.from({ length: callers }, async () => {
    while (next < from + calls) await call(next++)
  })
)
process.stdout.write(JSON.stringify({ ms: performance.now() - began, waits, refused } satisfies Took))
agent.destroy()
