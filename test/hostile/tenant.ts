// A tenant with a token and a password uses every route of the API, and tries every forbidden action.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { seededRandom } from '../bench/soak/seeded-random.ts'
import { spawnChild } from '../support/child-process.ts'
import { isFuzzed, mutator, type Operation, operationsOf } from './request-mutator.ts'
import type { Attack, Target } from './target.ts'

const workers = 3
const loginWorkers = 2
const streams = 24
const streamPort = 20_899
const enrolledWithinMs = 60_000

type Counts = Record<string, number>

export const attack: Attack = async target => {
  const did: Counts = {}
  const count = (what: string): void => {
    did[what] = (did[what] ?? 0) + 1
  }
  const until = AbortSignal.timeout(target.secs * 1000)
  const marker = await leaveMarker(target)
  const described = await operationsOf(target.origin)
  const operations = described.filter(isFuzzed)
  const redeemed = redeem(target)
  await Promise.all([
    ...Array.from({ length: workers }, (_, i) => fuzz(target, operations, i, until, count)),
    ...Array.from({ length: loginWorkers }, (_, i) => guess(target, i, until, count)),
    churn(target, until, count),
    duplicate(target, until, count),
    holdStreams(target, described, until, count)
  ])
  did['redeemed ms'] = await redeemed
  await requireMarker(target, marker)
  return did
}

const asTenant = ({ tenant }: Target) => ({ authorization: `Bearer ${tenant.token}` })
const json = { 'content-type': 'application/json' }

/** Sends requests generated from the server's OpenAPI document, each with a mutation. */
async function fuzz(
  target: Target,
  operations: readonly Operation[],
  worker: number,
  until: AbortSignal,
  count: (what: string) => void
): Promise<void> {
  const dice = seededRandom(target.seed * 1000 + worker)
  const { tenant, victim } = target
  const known = [...victim.ruleIds, ...victim.clientIds, victim.userId, tenant.userId]
  const { requestOf, harvest } = mutator(dice, known)
  while (!until.aborted) {
    const operation = dice.pick(operations)
    if (!operation) throw new Error('the server describes no operation')
    const { path, headers, body } = requestOf(operation)
    const reply = await fetch(`${target.origin}${path}`, {
      method: operation.method,
      headers: { ...headers, ...asTenant(target) },
      signal: AbortSignal.timeout(30_000),
      ...(body !== undefined && { body })
    }).catch(() => null) // the server may cut an oversized request
    count(`${reply?.status ?? 'cut'}`)
    if (!reply) continue
    const text = await reply.text().catch(() => '')
    if (reply.ok) harvest(text, reply.headers.get('etag'))
    refuseLeak(target, operation, { path, sent: String(body ?? ''), status: reply.status, text })
  }
}

interface Exchanged {
  readonly path: string
  readonly sent: string // the body of the request
  readonly status: number
  readonly text: string
}

function refuseLeak(
  { victim }: Target,
  { method, url }: Operation,
  { path, sent, status, text }: Exchanged
): void {
  if (status === 500) throw new Error(`${method} ${path} answers 500: ${text.slice(0, 500)}`)
  if (status >= 300) return
  const others = [victim.userId, ...victim.ruleIds]
  if (path.split(/[/?]/).some(part => others.includes(part)))
    throw new Error(`${method} ${path} answers ${status}`)
  if (method !== 'GET' && victim.clientIds.some(id => url.startsWith('/v1/clients') && path.includes(id)))
    throw new Error(`${method} ${path} answers ${status}`)
  if (victim.ruleIds.some(id => text.includes(id) && !sent.includes(id)))
    // a check shows what it is sent
    throw new Error(`${method} ${path} shows a rule of another user`)
}

/** Guesses passwords. Each checked guess costs the server a hash. */
async function guess(
  { origin, seed, tenant, victim }: Target,
  worker: number,
  until: AbortSignal,
  count: (what: string) => void
): Promise<void> {
  const dice = seededRandom(seed * 2000 + worker)
  while (!until.aborted) {
    const user_id = dice.pick([tenant.userId, victim.userId, 'nobody'])
    const body = JSON.stringify({ user_id, password: `guess ${dice.below(2 ** 30)}` })
    const reply = await fetch(`${origin}/v1/auth/login`, { method: 'POST', headers: json, body })
    count(`login ${reply.status}`)
    if (reply.status === 500 || reply.ok) throw new Error(`a guess answers ${reply.status}`)
    await reply.arrayBuffer()
  }
}

/** Creates and deletes rules as fast as the server allows. */
async function churn(target: Target, until: AbortSignal, count: (what: string) => void): Promise<void> {
  const [client] = target.victim.clientIds
  for (let port = 20_000; !until.aborted; port = port === streamPort - 1 ? 20_000 : port + 1) {
    const reply = await createRule(target, { client, listen_port: port })
    const { rule_id } = (await reply.json()) as { readonly rule_id?: string }
    count(`rule ${reply.status}`)
    if (reply.status === 500) throw new Error('a rule answers 500')
    if (rule_id === undefined) continue
    await fetch(`${target.origin}/v1/rules/${rule_id}`, { method: 'DELETE', headers: asTenant(target) })
  }
}

const createRule = (target: Target, body: object, headers = {}): Promise<Response> =>
  fetch(`${target.origin}/v1/rules`, {
    method: 'POST',
    headers: { ...asTenant(target), ...json, ...headers },
    body: JSON.stringify({ targets: [{ host: '127.0.0.1', port: 9 }], ...body })
  })

/** Sends concurrent creates with the same idempotency key. At most one rule may result. */
async function duplicate(target: Target, until: AbortSignal, count: (what: string) => void): Promise<void> {
  const [, client] = target.victim.clientIds
  for (let round = 0; !until.aborted; round++) {
    const body = { client, listen_port: 20_900 + (round % 100) }
    const headers = { 'idempotency-key': `twin-${target.seed}-${round}` }
    const replies = await Promise.all(Array.from({ length: 8 }, () => createRule(target, body, headers)))
    const made = new Set<string>()
    for (const reply of replies) {
      const { rule_id } = (await reply.json()) as { readonly rule_id?: string }
      if (reply.status === 201 && rule_id !== undefined) made.add(rule_id)
      if (reply.status === 500) throw new Error('a duplicate answers 500')
    }
    if (made.size > 1) throw new Error(`one idempotency key created ${made.size} rules`)
    count(`twins ${made.size}`)
    for (const id of made)
      await fetch(`${target.origin}/v1/rules/${id}`, { method: 'DELETE', headers: asTenant(target) })
  }
}

/** Opens streams and never reads them. */
async function holdStreams(
  target: Target,
  operations: readonly Operation[],
  until: AbortSignal,
  count: (what: string) => void
): Promise<void> {
  const reply = await createRule(target, { client: target.victim.clientIds[0], listen_port: streamPort })
  const { rule_id } = (await reply.json()) as { readonly rule_id?: string }
  if (rule_id === undefined) throw new Error(`the rule of the streams answers ${reply.status}`)
  const streamed = operations.filter(({ url }) => url.endsWith('/stream'))
  const paths = streamed.map(({ url }) => url.replace('{rule_id}', rule_id))
  const cut = new AbortController()
  for (let i = 0; i < streams; i++)
    for (const path of paths) {
      const reply = await fetch(`${target.origin}${path}`, {
        headers: asTenant(target),
        signal: cut.signal
      }).catch(() => null)
      count(`stream ${reply?.status ?? 'cut'}`)
    }
  if (!until.aborted) await once(until, 'abort')
  cut.abort()
}

/** Creates a superadmin, which tenants need to do anything. Returns the request id of its audit entry. */
async function leaveMarker({ origin, operatorToken }: Target): Promise<string> {
  const headers = { ...json, authorization: `Bearer ${operatorToken}` }
  const body = JSON.stringify({ user_id: 'root', display_name: 'root', role: 'superadmin' })
  const reply = await fetch(`${origin}/v1/users`, { method: 'POST', headers, body })
  const id = reply.headers.get('x-request-id')
  if (reply.status !== 201 || id === null) throw new Error(`the superadmin's request answers ${reply.status}`)
  return id
}

async function requireMarker({ origin, operatorToken }: Target, requestId: string): Promise<void> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const reply = await fetch(`${origin}/v1/audit?limit=1000&cursor=${cursor}`, { headers })
    const page = (await reply.json()) as {
      readonly entries: readonly { readonly request_id: string }[]
      readonly next_cursor?: string
    }
    if (page.entries.some(({ request_id }) => request_id === requestId)) return
    cursor = page.next_cursor
  }
  throw new Error("the superadmin's entry is missing from the audit log")
}

/** Enrolls an edge host during the other attacks. Returns the duration in ms. */
async function redeem({ enrollmentUri }: Target): Promise<number> {
  const dir = mkdtempSync(join(import.meta.dirname, '.edge-'))
  const start = performance.now()
  const bin = join(import.meta.dirname, '..', '..', 'kernel', 'bin.ts')
  const env = { ...process.env, SVC_ENROLL_URI: enrollmentUri }
  const agent = spawnChild(process.execPath, [bin, 'agent', 'run', '--state-dir', dir], {
    env,
    stdio: 'pipe'
  })
  try {
    await Promise.race([waitForEvent(agent, 'agent.enrolled'), late()])
    return Math.round(performance.now() - start)
  } finally {
    agent.kill('SIGKILL')
    await once(agent, 'close')
    rmSync(dir, { recursive: true, force: true })
  }
}

async function waitForEvent({ stderr }: ChildProcess, event: string): Promise<void> {
  let output = ''
  for await (const chunk of stderr ?? []) {
    output += String(chunk)
    if (output.includes(event)) return
  }
  throw new Error(`the edge host was not enrolled: ${output.slice(-2000)}`)
}

const late = (): Promise<never> =>
  new Promise((_, reject) => {
    const error = new Error(`the edge host was not enrolled in ${enrolledWithinMs} ms`)
    setTimeout(() => reject(error), enrolledWithinMs).unref()
  })
