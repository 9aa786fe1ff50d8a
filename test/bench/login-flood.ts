// Measures the latency of reads and writes with a bearer token, and the server's memory, before and during a flood of
// wrong logins from many addresses.
//   node test/bench/login-flood.ts [--per-second 500] [--seconds 20]
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { newSecret } from '../../kernel/identity/secret.ts'
import { start } from '../support/process.ts'

const { values } = parseArgs({
  options: { 'per-second': { type: 'string', default: '500' }, seconds: { type: 'string', default: '20' } }
})
const perSecond = Number(values['per-second'])
const seconds = Number(values.seconds)
const pauseMs = 20

const releases: (() => unknown)[] = []
const t = { teardown: (release: () => unknown) => void releases.push(release) }
const dir = mkdtempSync(join(import.meta.dirname, '.flood-'))
const token = newSecret()
const server = start(t, ['server', '--data-dir', dir], {
  SVC_OPERATOR_TOKEN: token,
  SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
  SVC_CONTROL_LISTEN: '127.0.0.1:0',
  SVC_METRICS_LISTEN: '127.0.0.1:0',
  SVC_TRUSTED_PROXIES: '127.0.0.1'
})

/** Runs in a separate thread, so that it does not delay the measured requests. */
const flood = `
import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
const { origin, perSecond, seconds } = workerData
const agent = new Agent({ keepAlive: true, maxSockets: 400 })
const statuses = {}
let sent = 0
const byte = () => Math.floor(Math.random() * 256)
const attempt = () => new Promise(resolve => {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': \`10.\${byte()}.\${byte()}.\${byte()}\` }
  const outgoing = request(origin + '/v1/auth/login', { method: 'POST', agent, headers }, reply => {
    statuses[reply.statusCode] = (statuses[reply.statusCode] ?? 0) + 1
    reply.resume().on('end', resolve)
  })
  outgoing.on('error', error => { statuses[error.code] = (statuses[error.code] ?? 0) + 1; resolve() })
  const user_id = Math.random() < 0.5 ? 'root' : 'user' + Math.floor(Math.random() * 1e6)
  outgoing.end(JSON.stringify({ user_id, password: 'wrong wrong wrong' }))
})
const began = performance.now()
const running = new Set()
const timer = setInterval(() => {
  const due = Math.min((performance.now() - began) / 1000, seconds) * perSecond
  for (; sent < due; sent++) { const pending = attempt().then(() => running.delete(pending)); running.add(pending) }
  if (sent < seconds * perSecond) return
  clearInterval(timer)
  Promise.all(running).then(() => { agent.destroy(); parentPort.postMessage({ statuses, sent, tookMs: performance.now() - began }) })
}, 5)
`

const agent = new Agent({ keepAlive: true })

/** Returns the milliseconds until the response is complete. */
function timeRequest(url: string, method: string, body?: object): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const began = performance.now()
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
  const outgoing = request(url, { method, agent, headers }, reply => {
    if (!/^2/.test(String(reply.statusCode))) reject(new Error(`${method} ${url}: ${reply.statusCode}`))
    reply.resume().on('end', () => resolve(performance.now() - began))
  })
  outgoing.on('error', reject).end(body && JSON.stringify(body))
  return promise
}

const memoryMib = (): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024)

/** Times three reads and a write, then pauses. Repeats until `over` resolves. */
async function measure(what: string, origin: string, over: Promise<unknown>): Promise<void> {
  const [reads, writes]: [number[], number[]] = [[], []]
  let isOver = false
  let maxMib = 0
  over.then(() => {
    isOver = true
  })
  while (!isOver) {
    for (const path of ['/v1/users/me', '/v1/clients', '/v1/users'])
      reads.push(await timeRequest(origin + path, 'GET'))
    writes.push(
      await timeRequest(`${origin}/v1/users/root`, 'PATCH', { display_name: `Root ${writes.length}` })
    )
    maxMib = Math.max(maxMib, memoryMib())
    await setTimeout(pauseMs)
  }
  process.stdout.write(
    `${what}: ${summarize('reads', reads)}; ${summarize('writes', writes)}; at most ${maxMib} MiB\n`
  )
}

function summarize(what: string, all: readonly number[]): string {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (share: number) => `${sorted[Math.ceil(sorted.length * share) - 1]?.toFixed(1)} ms`
  return `${all.length} ${what}, median ${at(0.5)}, p99 ${at(0.99)}, worst ${at(1)}`
}

async function main(): Promise<void> {
  const origin = String((await server.until('server.started'))['origin'])
  const setup_token = (await server.until('onboarding.setup_token')).msg.slice(-43)
  const password = newSecret()
  const root = { user_id: 'root', display_name: 'Root', password, password_confirm: password, setup_token }
  await timeRequest(`${origin}/v1/auth/onboarding`, 'POST', root)

  await measure('before', origin, setTimeout(5000))
  const attackers = new Worker(flood, { eval: true, workerData: { origin, perSecond, seconds } })
  const over = once(attackers, 'message')
  await measure('during', origin, over)
  const [{ statuses, sent, tookMs }] = await over
  process.stdout.write(
    `${sent} wrong logins in ${Math.round(tookMs)} ms (${Math.round((sent / tookMs) * 1000)} a second): ` +
      `${JSON.stringify(statuses)}\n`
  )
}

try {
  await main()
} finally {
  agent.destroy()
  for (const release of releases.reverse()) await release()
  rmSync(dir, { recursive: true })
}
