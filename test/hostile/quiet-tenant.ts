// A tenant that uses the API and its rule a little, next to others. Measures how it is served.
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import { quantile } from '../bench/seeded-server.ts'
import { freePort } from '../support/ports.ts'
import type { TestCluster } from '../support/test-cluster.ts'

/** 99th percentiles in ms, by use. */
export type Served = Readonly<Record<Use, number>>

export interface QuietTenant {
  /** Uses everything again and again until `stop`. Rejects if a use is refused or fails. */
  use(stop: AbortSignal): Promise<Served>
  /** Waits for the reports. Returns the differences between its statistics and what it did. */
  wrongStats(): Promise<string[]>
}

type Use = 'read' | 'statistics' | 'change' | 'connection' | 'name'

const user = 'bob'
const everyMs = 100
const reportedWithinMs = 30_000
const payload = 'quiet'

/** Creates the tenant, with a rule on the client that leads to the echo port. */
export async function openQuietTenant(
  { call }: TestCluster,
  clientId: string,
  echo: number
): Promise<QuietTenant> {
  await call('POST', '/v1/users', { user_id: 'chief', display_name: 'chief', role: 'superadmin' }) // tenants need one
  await call('POST', '/v1/users', { user_id: user, display_name: user })
  const ports = { listen_port_start: 1, listen_port_end: 65_535 }
  await call('POST', '/v1/grants', { user_id: user, client_id: clientId, protocols: ['tcp'], ...ports })
  const { token } = await call<{ token: string }>('POST', `/v1/users/${user}/credentials`, { label: 'quiet' })
  const port = await freePort()
  const addressed = [{ host: '127.0.0.1', port: echo }]
  const named = [{ host: 'localhost', port: echo }]
  const body = { client: clientId, listen_port: port, targets: addressed }
  const { rule_id: id } = await call<{ rule_id: string }>('POST', '/v1/rules', body, token)
  let exchanges = 0

  const toTargets = async (targets: typeof named): Promise<void> => {
    const { state } = await call<{ state: string }>('PATCH', `/v1/rules/${id}`, { targets }, token)
    if (state !== 'active') throw new Error(`the rule of the quiet tenant is ${state}`)
  }
  const exchangeOnce = async (): Promise<void> => {
    await exchange(port)
    exchanges++
  }
  const uses: readonly (readonly [Use, () => Promise<unknown>])[] = [
    ['read', () => call('GET', '/v1/rules', undefined, token)],
    ['statistics', () => call('GET', `/v1/rules/${id}/stats`, undefined, token)],
    ['change', () => toTargets(named)],
    ['name', exchangeOnce],
    ['change', () => toTargets(addressed)],
    ['connection', exchangeOnce]
  ]

  return {
    async use(stop) {
      const tookMs: Record<Use, number[]> = { read: [], statistics: [], change: [], connection: [], name: [] }
      while (!stop.aborted)
        for (const [use, run] of uses) {
          const start = performance.now()
          await run()
          tookMs[use].push(performance.now() - start)
          await new Promise(resolve => setTimeout(resolve, everyMs))
        }
      const p99 = Object.entries(tookMs).map(([use, ms]) => [use, Math.round(quantile(ms, 0.99))])
      return Object.fromEntries(p99) as Served
    },
    async wrongStats() {
      for (const end = Date.now() + reportedWithinMs; ; ) {
        const stats = await call<RuleStats>('GET', `/v1/rules/${id}/stats`, undefined, token)
        const expected = exchanges * payload.length
        if (stats.bytes_in === expected && stats.bytes_out === expected) return []
        if (Date.now() > end)
          return [`quiet rule: counted ${stats.bytes_in} and ${stats.bytes_out} bytes, expected ${expected}`]
        await new Promise(resolve => setTimeout(resolve, 500))
      }
    }
  }
}

async function exchange(port: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' }).setTimeout(10_000)
  socket.on('timeout', () => socket.destroy(new Error(`no answer through port ${port} of the quiet tenant`)))
  await once(socket, 'connect')
  socket.end(payload)
  const received = await text(socket)
  if (received !== payload)
    throw new Error(`port ${port} of the quiet tenant gave ${JSON.stringify(received)}`)
}
