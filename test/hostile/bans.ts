// A tenant's rule bans sources that the tenant invents in PROXY headers. The operator's bans must stay in force, and new
// ones must be possible.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { Attack, Target } from './target.ts'

const workers = 64
const callsPerSource = 3
const yearSecs = 31_536_000
const tenantPort = 20_990
const watchedPort = 20_991
const bannedSource = '203.0.113.99'
const otherSource = '203.0.113.98'
const answerMs = 2_000

export const attack: Attack = async target => {
  const [client] = target.victim.clientIds
  const echo = createServer(socket => void socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1')
  await once(echo, 'listening')
  const { operatorToken, tenant } = target
  const header = { proxy_in: ['127.0.0.0/8'] }
  const root = { user_id: 'root', display_name: 'root', role: 'superadmin' } // without one, tenants can do nothing
  await post(target, operatorToken, '/v1/users', root)
  await post(target, operatorToken, '/v1/bans', { source: bannedSource, for_secs: 86_400 })
  await post(target, operatorToken, '/v1/rules', {
    client,
    owner: root.user_id,
    listen_port: watchedPort,
    targets: [{ host: '127.0.0.1', port: (echo.address() as AddressInfo).port }],
    ...header
  })
  await post(target, tenant.token, '/v1/rules', {
    client,
    listen_port: tenantPort,
    targets: [{ host: '127.0.0.1', port: 9 }],
    ban: { new_connections: 1, within_secs: 60, for_secs: yearSecs },
    ...header
  })
  const sources = await flood(AbortSignal.timeout(target.secs * 1000))
  if (!(await isServed(otherSource))) throw new Error(`${otherSource} is refused without a ban`)
  if (await isServed(bannedSource)) throw new Error(`the operator's ban of ${bannedSource} is not in force`)
  await post(target, operatorToken, '/v1/bans', { source: otherSource, for_secs: 86_400 })
  if (await isServed(otherSource)) throw new Error(`the operator's new ban of ${otherSource} is not in force`)
  return { sources }
}

/** Calls from one invented source after another. Returns their number. */
async function flood(until: AbortSignal): Promise<number> {
  let source = 0
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (!until.aborted) {
        const n = source++
        const address = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
        for (let call = 0; call < callsPerSource; call++) await exchange(tenantPort, address)
      }
    })
  )
  return source
}

const isServed = async (source: string): Promise<boolean> => (await exchange(watchedPort, source)) === 'hello'

/** Returns the answer to a greeting from the source; '' if the connection ends without one. */
async function exchange(port: number, source: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' }).setTimeout(answerMs)
  let answer = ''
  socket.on('error', () => {})
  socket.on('timeout', () => socket.destroy())
  socket.on('data', chunk => {
    answer += chunk
  })
  socket.end(`PROXY TCP4 ${source} 127.0.0.1 40000 ${port}\r\nhello`)
  await new Promise(resolve => socket.on('close', resolve)) // `once` of node:events would reject at a reset
  return answer
}

async function post({ origin }: Target, token: string, path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const reply = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`POST ${path}: ${reply.status} ${await reply.text()}`)
}
