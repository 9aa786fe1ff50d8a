// Tenants that use the API and their rules a little, next to others. Measures how they are served.
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { RuleStats } from '../../plugins/stats/schema.ts'
import { quantile } from '../bench/seeded-server.ts'
import { killChild, spawnChild } from '../support/child-process.ts'
import { freePort } from '../support/ports.ts'
import type { TestCluster, TestFolder } from '../support/test-cluster.ts'
import type { Phase } from './target.ts'

/** 'machine' uses no server: a round trip to another process and a write to the disk, as every change has several. */
type Use = 'read' | 'statistics' | 'change' | 'connection' | 'name' | 'machine'

export interface UseStats {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export type Served = Readonly<Record<Use, UseStats>>

export interface Compared {
  readonly alone: Served
  readonly attacked: Served
}

export interface QuietTenants {
  /** Use everything again and again until `stop`. Rejects if a use is refused or fails. */
  use(stop: AbortSignal, phase: () => Phase): Promise<Compared>
  /** Waits for the reports. Returns the differences between the statistics and what the tenants did. */
  wrongStats(): Promise<string[]>
}

/** Several tenants give enough samples for a 99th percentile, although each stays within its tenth of a core. */
const tenants = ['bob', 'cam', 'dan', 'fay']
const everyMs: Readonly<Record<Use, number>> = {
  read: 200,
  statistics: 200,
  change: 250,
  connection: 100,
  name: 100,
  machine: 50
}
const reportedWithinMs = 30_000
const payload = 'quiet'

interface Rule {
  readonly id: string
  readonly port: number
  exchanges: number
}

interface User {
  readonly uses: Readonly<Partial<Record<Use, () => Promise<unknown>>>>
  readonly rules: readonly Rule[]
}

/** Creates the tenants, each with rules on the client that lead to the echo port. */
export async function openQuietTenants(
  t: TestFolder,
  cluster: TestCluster,
  { clientId, echo }: { readonly clientId: string; readonly echo: number }
): Promise<QuietTenants> {
  const { call } = cluster
  await call('POST', '/v1/users', { user_id: 'chief', display_name: 'chief', role: 'superadmin' }) // tenants need one
  const quiet: User[] = [await openMachine(t)]
  for (const user of tenants) quiet.push(await openQuietTenant(cluster, { user, clientId, echo }))

  return {
    async use(stop, phase) {
      const alone = noSamples()
      const attacked = noSamples()
      const repeat = async (use: Use, run: () => Promise<unknown>): Promise<void> => {
        while (!stop.aborted) {
          const begunIn = phase()
          const start = performance.now()
          await run()
          const phases = [begunIn, phase()]
          const samples = phases.includes('attacking') ? attacked : alone
          if (!phases.includes('changing')) samples[use].push(performance.now() - start)
          await new Promise(resolve => setTimeout(resolve, everyMs[use]))
        }
      }
      await Promise.all(
        quiet.flatMap(({ uses }) => Object.entries(uses).map(([use, run]) => repeat(use as Use, run)))
      )
      return { alone: statsOf(alone), attacked: statsOf(attacked) }
    },
    async wrongStats() {
      const rules = quiet.flatMap(({ rules }) => rules)
      for (const end = Date.now() + reportedWithinMs; ; ) {
        const wrong: string[] = []
        for (const { id, exchanges } of rules) {
          const stats = await call<RuleStats>('GET', `/v1/rules/${id}/stats`)
          const expected = exchanges * payload.length
          if (stats.bytes_in !== expected || stats.bytes_out !== expected)
            wrong.push(
              `quiet rule ${id}: ${stats.bytes_in} and ${stats.bytes_out} bytes, expected ${expected}`
            )
        }
        if (wrong.length === 0 || Date.now() > end) return wrong
        await new Promise(resolve => setTimeout(resolve, 500))
      }
    }
  }
}

async function openQuietTenant(
  { call }: TestCluster,
  { user, clientId, echo }: { readonly user: string; readonly clientId: string; readonly echo: number }
): Promise<User> {
  await call('POST', '/v1/users', { user_id: user, display_name: user })
  const ports = { listen_port_start: 1, listen_port_end: 65_535 }
  await call('POST', '/v1/grants', { user_id: user, client_id: clientId, protocols: ['tcp'], ...ports })
  const { token } = await call<{ token: string }>('POST', `/v1/users/${user}/credentials`, { label: 'quiet' })
  const createRule = async (host: string): Promise<Rule> => {
    const port = await freePort()
    const body = { client: clientId, listen_port: port, targets: [{ host, port: echo }] }
    const { rule_id: id } = await call<{ rule_id: string }>('POST', '/v1/rules', body, token)
    return { id, port, exchanges: 0 }
  }
  const addressed = await createRule('127.0.0.1')
  const named = await createRule('localhost')
  const changed = await createRule('127.0.0.1')
  let changes = 0

  return {
    rules: [addressed, named],
    uses: {
      read: () => call('GET', '/v1/rules', undefined, token),
      statistics: () => call('GET', `/v1/rules/${addressed.id}/stats`, undefined, token),
      async change() {
        const targets = [{ host: changes++ % 2 === 0 ? 'localhost' : '127.0.0.1', port: echo }]
        const { state } = await call<{ state: string }>(
          'PATCH',
          `/v1/rules/${changed.id}`,
          { targets },
          token
        )
        if (state !== 'active') throw new Error(`the rule of a quiet tenant is ${state}`)
      },
      connection: () => exchange(addressed),
      name: () => exchange(named)
    }
  }
}

async function openMachine(t: TestFolder): Promise<User> {
  const child = spawnChild('cat', [], { stdio: ['pipe', 'pipe', 'inherit'] })
  const file = await open(join(t.testdir(), 'synced'), 'w')
  t.teardown(async () => {
    await file.close()
    await killChild(child)
  })
  const machine = async (): Promise<void> => {
    child.stdin.write('a')
    await once(child.stdout, 'data')
    await file.write('a', 0)
    await file.datasync()
  }
  return { rules: [], uses: { machine } }
}

const noSamples = (): Record<Use, number[]> => ({
  read: [],
  statistics: [],
  change: [],
  connection: [],
  name: [],
  machine: []
})

const statsOf = (samples: Readonly<Record<Use, readonly number[]>>): Served =>
  Object.fromEntries(
    Object.entries(samples).map(([use, tookMs]): [string, UseStats] => [
      use,
      {
        count: tookMs.length,
        p50Ms: Math.round(quantile(tookMs, 0.5)),
        p99Ms: Math.round(quantile(tookMs, 0.99))
      }
    ])
  ) as Served

async function exchange(rule: Rule): Promise<void> {
  const { port } = rule
  const socket = connect({ port, host: '127.0.0.1' }).setTimeout(10_000)
  socket.on('timeout', () => socket.destroy(new Error(`no answer through port ${port} of a quiet tenant`)))
  await once(socket, 'connect')
  socket.end(payload)
  const received = await text(socket)
  if (received !== payload) throw new Error(`port ${port} of a quiet tenant gave ${JSON.stringify(received)}`)
  rule.exchanges++
}
