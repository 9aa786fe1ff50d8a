// Measures a server from outside while others use it: API latency and resident memory.
import { readFileSync } from 'node:fs'
import { quantile } from '../bench/seeded-server.ts'
import { freePort } from '../support/ports.ts'
import type { TestCluster } from '../support/test-cluster.ts'
import type { World } from './world.ts'

export interface LatencyStats {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

const paths = ['/v1/auth/status', '/v1/clients', '/v1/rules', '/v1/stats/summary']
const everyMs = 50

/** Calls the API as a superadmin until `stop`, one request at a time. Rejects if a response is not 200. */
export async function probe({ call }: TestCluster, stop: AbortSignal): Promise<LatencyStats> {
  const tookMs: number[] = []
  while (!stop.aborted)
    for (const path of paths) {
      const start = performance.now()
      await call('GET', path)
      tookMs.push(performance.now() - start)
      await new Promise(resolve => setTimeout(resolve, everyMs))
    }
  return statsOf(tookMs)
}

/** Creates and deletes a rule of the honest user until `stop`. Returns how long the creates took. Rejects if one fails. */
export async function probeChanges({ cluster, target }: World, stop: AbortSignal): Promise<LatencyStats> {
  const tookMs: number[] = []
  const { userId: owner, clientIds } = target.victim
  const targets = [{ host: '127.0.0.1', port: 9 }]
  const body = { client: clientIds[0], owner, listen_port: await freePort(), targets } // a long run would use up the ports
  while (!stop.aborted) {
    const start = performance.now()
    const { rule_id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', body)
    tookMs.push(performance.now() - start)
    await cluster.call('DELETE', `/v1/rules/${rule_id}`)
    await new Promise(resolve => setTimeout(resolve, 10 * everyMs))
  }
  return statsOf(tookMs)
}

function statsOf(tookMs: readonly number[]): LatencyStats {
  const at = (share: number): number => Math.round(quantile(tookMs, share) * 10) / 10
  return { count: tookMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

export function residentMib(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kib) / 1024)
}

/** Samples the resident memory in MiB once a second until `stop`. */
export async function watchMemory(pid: number, stop: AbortSignal): Promise<number[]> {
  const mib: number[] = []
  while (!stop.aborted) {
    mib.push(residentMib(pid))
    await new Promise(resolve => setTimeout(resolve, 1000))
  }
  return mib
}
