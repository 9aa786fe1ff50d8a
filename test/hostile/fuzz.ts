// Sends generated requests to every operation of a real server with an agent, as superadmin, tenant and anonymous. Exits
// with 1 if a response has a status, code or body that the OpenAPI document lacks, or is 500. The same seed gives the same
// requests.
//   npm run fuzz -- [--requests 50000] [--seed 1] [--postgres]
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { type SeededRandom, seededRandom } from '../bench/soak/seeded-random.ts'
import { makeCluster } from '../postgres/cluster.ts'
import { startAgent, type TestCluster, type TestFolder, testCluster, token } from '../support/test-cluster.ts'
import { isFuzzed, type MutatedRequest, mutator, type Operation, operationsOf } from './request-mutator.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '50000' },
    seed: { type: 'string', default: '1' },
    postgres: { type: 'boolean', default: false }
  }
})
const requests = Number(values.requests)
const userId = 'eve'
const requestMs = 100_000 // routes end within 90 s

interface Caller {
  readonly name: string
  readonly authorization: string | null
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly etag: string | null
  readonly type: string | undefined // the media type
}

const found = new Map<string, string>() // faults, with the first request of each
const statuses = new Map<string, number>()

async function fuzz(t: TestFolder, env: Readonly<Record<string, string>>): Promise<void> {
  const cluster = await testCluster(t, env)
  const { clientId } = await startAgent(t, cluster, 'paris')
  const operations = (await operationsOf(cluster.origin)).filter(isFuzzed)
  const dice = seededRandom(Number(values.seed))
  const { requestOf, harvest } = mutator(dice, [clientId, userId])
  let tenant = await createTenant(cluster)
  for (let sent = 0; sent < requests; sent++) {
    const operation = dice.pick(operations)
    if (!operation) throw new Error('the server describes no operation')
    if (sent % 100 === 0 && !(await isCurrent(cluster, tenant))) tenant = await createTenant(cluster)
    const caller = pickCaller(dice, tenant)
    const request = requestOf(operation)
    if (endsClient(operation) && request.path.includes(clientId)) continue // others need it
    const answer = await send(cluster, operation, { request, caller })
    if (answer === null) continue
    if (answer.status < 300) harvest(answer.text, answer.etag)
    judge(operation, { request, caller, answer })
  }
}

const endsClient = ({ method, url }: Operation): boolean =>
  url.endsWith('/revoke') || (method === 'DELETE' && url === '/v1/clients/{client_id}')

const pickCaller = (dice: SeededRandom, tenant: string): Caller =>
  dice.pick([
    { name: 'superadmin', authorization: `Bearer ${token}` },
    { name: 'superadmin', authorization: `Bearer ${token}` },
    { name: 'tenant', authorization: `Bearer ${tenant}` },
    { name: 'tenant', authorization: `Bearer ${tenant}` },
    { name: 'anonymous', authorization: null }
  ]) ?? { name: 'anonymous', authorization: null }

/** Returns null if the connection was cut, which only a body beyond the limit may cause. */
async function send(
  { origin }: TestCluster,
  { method, url }: Operation,
  { request: { path, headers, body }, caller }: { readonly request: MutatedRequest; readonly caller: Caller }
): Promise<Answer | null> {
  try {
    const reply = await fetch(origin + path, {
      method,
      headers: { ...headers, ...(caller.authorization !== null && { authorization: caller.authorization }) },
      signal: AbortSignal.timeout(requestMs),
      redirect: 'manual',
      ...(body !== undefined && { body })
    })
    const [type] = reply.headers.get('content-type')?.split(';') ?? []
    return { status: reply.status, text: await reply.text(), etag: reply.headers.get('etag'), type }
  } catch (error) {
    const isHuge = (body?.length ?? 0) > 2 ** 13
    if (!isHuge) note(`${method} ${url}: the connection was cut`, `${path} ${String(error)}`)
    return null
  }
}

interface Exchange {
  readonly request: MutatedRequest
  readonly caller: Caller
  readonly answer: Answer
}

function judge(operation: Operation, { request, caller, answer: { status, text, type } }: Exchange): void {
  const counted = `${caller.name} ${status}`
  statuses.set(counted, (statuses.get(counted) ?? 0) + 1)
  const fault = status === 500 ? `status 500: ${text}` : operation.faultOf(status, text, type)
  const { method, url } = operation
  if (status > 500) console.log(`${method} ${url}: ${status} ${text.slice(0, 200)}`)
  if (fault === null) return
  const [, code = ''] = /"code":"([\w.]+)"/.exec(text) ?? []
  const { path, headers, body } = request
  const sent = `${caller.name} ${path} ${JSON.stringify(headers)} ${String(body).slice(0, 1000)}`
  note(`${method} ${url}: ${status} ${code}`, `${fault}\n    ${sent.slice(0, 1500)}`)
}

function note(what: string, example: string): void {
  if (!found.has(what)) found.set(what, example)
}

async function isCurrent({ origin }: TestCluster, tenant: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${tenant}` }
  return (await fetch(`${origin}/v1/users/me`, { headers })).ok
}

let superadmins = 0

/**
 * Makes the tenant again if a superadmin's request has disabled or deleted it. Returns a new token. Such a request may also
 * have made the tenant the last superadmin, which cannot be deleted, so that another one is created first.
 */
async function createTenant({ call }: TestCluster): Promise<string> {
  const spare = `spare-${++superadmins}`
  await call('POST', '/v1/users', { user_id: spare, display_name: spare, role: 'superadmin' })
  await call('DELETE', `/v1/users/${userId}`).catch((error: unknown) => {
    if (!/: 404 /.test(String(error))) throw error // there may be none
  })
  await call('POST', '/v1/users', { user_id: userId, display_name: userId })
  const ports = { listen_port_start: 20_000, listen_port_end: 20_999, protocols: ['tcp', 'udp'] }
  await call('POST', '/v1/grants', { user_id: userId, client_id: '*', ...ports })
  const made = await call<{ token: string }>('POST', `/v1/users/${userId}/credentials`, { label: 'fuzz' })
  return made.token
}

const dir = mkdtempSync(join(import.meta.dirname, '.hostile-'))
const releases: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true })]
try {
  const env: Record<string, string> = {}
  if (values.postgres) {
    const { at, start, remove } = await makeCluster()
    releases.push(remove)
    start()
    await runAt(at('postgres'), ['create database sluice'])
    env['SVC_STORE_URL'] = at('sluice').url
  }
  await fuzz({ testdir: () => dir, teardown: release => void releases.push(release as () => unknown) }, env)
} finally {
  for (const release of releases.reverse()) await release()
}
for (const [what, example] of found) console.error(`${what}\n  ${example}`)
console.log(`fuzz, seed ${values.seed}: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`)
if (found.size > 0) process.exitCode = 1
